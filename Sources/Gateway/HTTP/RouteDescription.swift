/// A route's description in the OpenAPI document.
struct RouteDescription: Sendable {
    struct Answer: Sendable {
        var status: Int
        var words: String
        var type: String?
        var schema: JSONValue?

        static func json(_ status: Int, _ words: String, _ schema: JSONValue) -> Answer {
            Answer(status: status, words: words, type: "application/json", schema: schema)
        }
        static func json(_ words: String, _ schema: JSONValue) -> Answer { json(200, words, schema) }
        static func empty(_ status: Int, _ words: String) -> Answer { Answer(status: status, words: words) }
        static func file(_ status: Int, _ words: String, _ type: String) -> Answer {
            Answer(status: status, words: words, type: type, schema: ["type": "string"])
        }
        static func file(_ words: String, _ type: String) -> Answer { file(200, words, type) }
    }

    /// A parameter beside those of the path.
    struct Parameter: Sendable {
        var place: String
        var name: String
        var words: String
        var schema: JSONValue

        static func query(_ name: String, _ words: String, _ schema: JSONValue = Schema.string) -> Parameter {
            Parameter(place: "query", name: name, words: words, schema: schema)
        }
        static func header(_ name: String, _ words: String) -> Parameter {
            Parameter(place: "header", name: name, words: words, schema: Schema.string)
        }
    }

    var tag: String
    var summary: String
    var parameters: [Parameter] = []
    var body: (type: String, schema: JSONValue)?
    var answers: [Answer]
    /// The statuses of its refusals.
    var failures: [Int] = []
}

/// Abbreviations for JSON Schema.
enum Schema {
    static let string: JSONValue = ["type": "string"]
    static let integer: JSONValue = ["type": "integer"]
    static let number: JSONValue = ["type": "number"]
    static let boolean: JSONValue = ["type": "boolean"]
    static let date: JSONValue = ["type": "string", "format": "date-time"]

    static func ref(_ name: String) -> JSONValue { ["$ref": .string("#/components/schemas/\(name)")] }
    static func list(of item: JSONValue) -> JSONValue { ["type": "array", "items": item] }
    static func orNull(_ schema: JSONValue) -> JSONValue { ["anyOf": [schema, ["type": "null"]]] }
    static func choice(_ values: [String]) -> JSONValue {
        ["type": "string", "enum": .array(values.map { .string($0) })]
    }
    static func integer(_ range: ClosedRange<Int>) -> JSONValue {
        ["type": "integer", "minimum": .integer(range.lowerBound), "maximum": .integer(range.upperBound)]
    }
    static func object(_ properties: [String: JSONValue], required: [String] = []) -> JSONValue {
        var schema: [String: JSONValue] = ["type": "object", "properties": .object(properties)]
        if !required.isEmpty { schema["required"] = .array(required.map { .string($0) }) }
        return .object(schema)
    }
}
