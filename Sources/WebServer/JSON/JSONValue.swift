import Basics
package import FoundationEssentials

/// Any JSON value: the form of all encoded answers and messages, and of decoded API bodies.
package enum JSONValue: Sendable, Equatable {
    case null
    case bool(Bool)
    case integer(Int)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    package subscript(key: String) -> JSONValue? {
        if case .object(let members) = self { members[key] } else { nil }
    }

    /// ISO 8601 in UTC, as OpenAPI's `date-time`.
    package static func date(_ date: Date) -> JSONValue { .string(date.ISO8601Format()) }

    /// The same to the millisecond.
    package static func preciseDate(_ date: Date) -> JSONValue {
        .string(date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
    }

    /// An object with `members`, and those of `others` that are not nil.
    package static func object(_ members: [String: JSONValue], where others: [String: JSONValue?]) -> JSONValue {
        .object(members.merging(others.compactMapValues { $0 }) { _, last in last })
    }

    /// The same object with a member added or replaced.
    package func with(_ key: String, _ value: JSONValue) -> JSONValue {
        guard case .object(var members) = self else { return self }
        members[key] = value
        return .object(members)
    }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    package init(stringLiteral value: String) { self = .string(value) }
    package init(booleanLiteral value: Bool) { self = .bool(value) }
    package init(integerLiteral value: Int) { self = .integer(value) }
    package init(floatLiteral value: Double) { self = .number(value) }
    package init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    package init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(Dictionary(elements) { _, last in last })
    }
}

extension JSONValue: Decodable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([JSONValue].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSONValue].self))
        }
    }
}

extension JSONValue {
    /// The encoded text (RFC 8259), without spaces, the members of objects sorted by name.
    package var bytes: [UInt8] {
        var bytes: [UInt8] = []
        write(to: &bytes)
        return bytes
    }

    private func write(to bytes: inout [UInt8]) {
        switch self {
        case .null: bytes += "null".utf8
        case .bool(let value): bytes += (value ? "true" : "false").utf8
        case .integer(let value): bytes += String(value).utf8
        // JSON has no infinity and no NaN.
        case .number(let value):
            bytes += (!value.isFinite ? "null" : Int(exactly: value).map { String($0) } ?? "\(value)").utf8
        case .string(let value): Self.write(value, to: &bytes)
        case .array(let values):
            bytes.append(UInt8(ascii: "["))
            for (index, value) in values.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                value.write(to: &bytes)
            }
            bytes.append(UInt8(ascii: "]"))
        case .object(let members):
            bytes.append(UInt8(ascii: "{"))
            for (index, member) in members.sorted(by: { $0.key < $1.key }).enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                Self.write(member.key, to: &bytes)
                bytes.append(UInt8(ascii: ":"))
                member.value.write(to: &bytes)
            }
            bytes.append(UInt8(ascii: "}"))
        }
    }

    /// RFC 8259 §7: quotation mark, reverse solidus and control characters must be escaped; all others are written as
    /// UTF-8.
    private static func write(_ text: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        var text = text
        text.withUTF8 { utf8 in
            // What needs no escape is taken in one piece: most of JSON is text.
            var start = 0
            for index in 0..<utf8.count {
                let byte = utf8[index]
                guard byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") else { continue }
                bytes.append(contentsOf: UnsafeBufferPointer(rebasing: utf8[start..<index]))
                bytes += escape(byte)
                start = index + 1
            }
            bytes.append(contentsOf: UnsafeBufferPointer(rebasing: utf8[start...]))
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private static func escape(_ byte: UInt8) -> String.UTF8View {
        switch byte {
        case UInt8(ascii: "\n"): #"\n"#.utf8
        case UInt8(ascii: "\r"): #"\r"#.utf8
        case UInt8(ascii: "\t"): #"\t"#.utf8
        case ..<0x20: (#"\u00"# + Hexadecimal.encode([byte])).utf8
        default: "\\\(Character(UnicodeScalar(byte)))".utf8
        }
    }
}

/// Decodes JSON of clients.
package enum JSON {
    package static func decode<Value: Decodable>(_ type: Value.Type, from bytes: some Collection<UInt8>) throws -> Value
    {
        try JSONDecoder().decode(type, from: Data(bytes))
    }

    /// Describes a decoding error without the names of Swift types.
    package static func explain(_ error: any Error) -> String {
        func place(_ context: DecodingError.Context) -> String? {
            context.codingPath.isEmpty ? nil : context.codingPath.map(\.stringValue).joined(separator: ".")
        }
        switch error {
        case DecodingError.keyNotFound(let key, _): return "\(key.stringValue) is missing"
        case DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context):
            return place(context).map { "\($0) has the wrong type" } ?? "this must be a JSON object"
        case DecodingError.dataCorrupted(let context):
            return place(context).map { "\($0) has a value that is not allowed" } ?? "this is not JSON"
        default: return "this is not JSON"
        }
    }
}
