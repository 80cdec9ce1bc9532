/// What a JSON text looks like from afar: found in one pass over the bytes, without memory, before a decoder makes
/// values of them.
///
/// Foundation's decoder makes an object of each value and looks at some of them six times; a text of 256 KiB can hold
/// 130,000 values, which cost it 0.3 s. Whoever sends JSON is nobody yet: texts that no client of ours sends are
/// refused for a ten-thousandth of that.
struct JSONOutline: Equatable {
    /// What a text may be like.
    struct Limits: Sendable {
        /// Objects and lists within each other.
        var depth: Int
        /// Values and keys.
        var values: Int

        /// Messages have one object in another at most, and lists of 100 participants.
        static let message = Limits(depth: 8, values: 1000)
        /// Bodies of the API are objects of a few keys.
        static let requestBody = Limits(depth: 8, values: 1000)
    }

    /// The text of the member `type` of the outermost object, the first if there are several; nil if there is none, or
    /// it is no plain text.
    private(set) var type: String?

    /// What one pass finds, whether the text is right JSON or not: that is for the decoder to say.
    ///
    /// - Throws: `bad_message` for a text beyond the limits.
    init(_ bytes: some Sequence<UInt8>, _ limits: Limits) throws(Refusal) {
        var scan = Scan(limits)
        for byte in bytes { try scan.take(byte) }
        type = scan.type
    }

    static func check(_ bytes: some Sequence<UInt8>, _ limits: Limits) throws(Refusal) {
        _ = try JSONOutline(bytes, limits)
    }

    private struct Scan {
        let limits: Limits
        var type: String?
        private var depth = 0
        private var values = 1
        private var isInText = false
        private var isEscaped = false
        /// Whether the text that is being read is a key of the outermost object, or the value of its key `type`.
        private var role = Role.other
        private var next = Role.other
        private var text: [UInt8] = []

        enum Role { case other, key, type }

        /// A text that is longer is neither the key `type` nor one of its values.
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
