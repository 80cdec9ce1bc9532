/// The outline of a JSON text, found in one pass over its bytes, in constant memory, before a decoder parses it.
///
/// Foundation's decoder allocates an object for each value and visits some of them six times; a text of 256 KiB can
/// hold 130,000 values, which take it 0.3 s. The sender may be unauthenticated: texts beyond the limits of real clients
/// are refused for a ten-thousandth of that time.
package struct JSONOutline: Equatable {
    /// The limits of a text.
    package struct Limits: Sendable {
        /// The most nested objects and lists.
        package var depth: Int
        /// The most values and keys together.
        package var values: Int

        package init(depth: Int, values: Int) {
            self.depth = depth
            self.values = values
        }

        /// Messages nest two objects at most, and have lists of 100 participants.
        package static let message = Limits(depth: 8, values: 1000)
        /// Bodies of the API are objects of a few keys.
        static let requestBody = Limits(depth: 8, values: 1000)
    }

    /// The text of the member `type` of the outermost object, the first if there are several; nil if there is none, or
    /// it is no unescaped text.
    package private(set) var type: String?

    /// Scans a text, which need not be valid JSON: the decoder checks that.
    ///
    /// - Throws: `bad_message` for a text beyond the limits.
    package init(_ bytes: some Sequence<UInt8>, _ limits: Limits) throws(Refusal) {
        var scan = Scan(limits)
        for byte in bytes { try scan.take(byte) }
        type = scan.type
    }

    package static func check(_ bytes: some Sequence<UInt8>, _ limits: Limits) throws(Refusal) {
        _ = try JSONOutline(bytes, limits)
    }

    private struct Scan {
        let limits: Limits
        var type: String?
        private var depth = 0
        private var values = 1
        private var isInText = false
        private var isEscaped = false
        /// The role of the current text: a key of the outermost object, or the value of its key `type`.
        private var role = Role.other
        private var next = Role.other
        private var text: [UInt8] = []

        enum Role { case other, key, type }

        /// A longer text is neither the key `type` nor one of its values.
        static let maxText = 32

        init(_ limits: Limits) { self.limits = limits }

        mutating func take(_ byte: UInt8) throws(Refusal) {
            if isInText { return takeInText(byte) }
            switch byte {
            case UInt8(ascii: "\""):
                isInText = true
                role = next
                text.removeAll(keepingCapacity: true)
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                guard depth <= limits.depth else {
                    throw Refusal(.badMessage, "this JSON is nested deeper than \(limits.depth) levels")
                }
                next = depth == 1 && byte == UInt8(ascii: "{") ? .key : .other
                try count()
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth = max(0, depth - 1)
                next = .other
            case UInt8(ascii: ","):
                next = depth == 1 ? .key : .other
                try count()
            case UInt8(ascii: ":"):
                next = depth == 1 && role == .key && text == Array("type".utf8) ? .type : .other
                try count()
            default:
                break
            }
        }

        private mutating func takeInText(_ byte: UInt8) {
            if isEscaped {
                isEscaped = false
            } else if byte == UInt8(ascii: "\\") {
                isEscaped = true
                role = .other
            } else if byte == UInt8(ascii: "\"") {
                isInText = false
                if role == .type, type == nil { type = String(decoding: text, as: UTF8.self) }
                next = .other
            } else if role != .other {
                if text.count == Scan.maxText { role = .other } else { text.append(byte) }
            }
        }

        private mutating func count() throws(Refusal) {
            values += 1
            guard values <= limits.values else {
                throw Refusal(.badMessage, "this JSON has more than \(limits.values) values")
            }
        }
    }
}
