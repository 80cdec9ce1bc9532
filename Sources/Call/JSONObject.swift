import FoundationEssentials

/// The messages of `/signal` as objects of texts, numbers, booleans, lists and objects; `null` is left out.
enum JSONObject {
    /// The members of an object; none of them for other texts.
    static func members(of json: Data) -> [String: Any] {
        (try? JSONDecoder().decode(Value.self, from: json))?.any as? [String: Any] ?? [:]
    }

    static func bytes(of members: [String: any Sendable]) throws -> [UInt8] {
        Array(try JSONEncoder().encode(Value(any: members)))
    }

    /// A number of a message, whole or not.
    static func number(_ value: Any?) -> Double? { value as? Double ?? (value as? Int).map(Double.init) }

    private struct Value: Codable {
        /// nil: `null`.
        var any: Any?

        init(any: Any?) { self.any = any }

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if container.decodeNil() {
                any = nil
            } else if let value = try? container.decode(Bool.self) {
                any = value
            } else if let value = try? container.decode(Int.self) {
                any = value
            } else if let value = try? container.decode(Double.self) {
                any = value
            } else if let value = try? container.decode(String.self) {
                any = value
            } else if let values = try? container.decode([Value].self) {
                any = values.compactMap(\.any)
            } else {
                any = try container.decode([String: Value].self).compactMapValues(\.any)
            }
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch any {
            case nil: try container.encodeNil()
            case let value as Bool: try container.encode(value)
            case let value as Int: try container.encode(value)
            case let value as Double: try container.encode(value)
            case let value as String: try container.encode(value)
            case let values as [Any]: try container.encode(values.map { Value(any: $0) })
            case let members as [String: Any]: try container.encode(members.mapValues { Value(any: $0) })
            case let value?:
                throw EncodingError.invalidValue(
                    value, .init(codingPath: encoder.codingPath, debugDescription: "no value of JSON"))
            }
        }
    }
}
