/// A route's description in the OpenAPI document.
package struct RouteDescription: Sendable {
    package struct Answer: Sendable {
        package var status: Int
        package var words: String
        package var type: String?
        package var schema: JSONValue?

        package static func json(_ status: Int, _ words: String, _ schema: JSONValue) -> Answer {
            Answer(status: status, words: words, type: "application/json", schema: schema)
        }
        package static func json(_ words: String, _ schema: JSONValue) -> Answer { json(200, words, schema) }
        package static func empty(_ status: Int, _ words: String) -> Answer { Answer(status: status, words: words) }
        package static func file(_ status: Int, _ words: String, _ type: String) -> Answer {
            Answer(status: status, words: words, type: type, schema: ["type": "string"])
        }
        package static func file(_ words: String, _ type: String) -> Answer { file(200, words, type) }
    }

    /// A parameter beside those of the path.
    package struct Parameter: Sendable {
        package var place: String
        package var name: String
        package var words: String
        package var schema: JSONValue

        package static func query(_ name: String, _ words: String, _ schema: JSONValue = Schema.string) -> Parameter {
            Parameter(place: "query", name: name, words: words, schema: schema)
        }
        package static func header(_ name: String, _ words: String) -> Parameter {
            Parameter(place: "header", name: name, words: words, schema: Schema.string)
        }
    }

    package var tag: String
    package var summary: String
    package var parameters: [Parameter] = []
    package var body: (type: String, schema: JSONValue)?
    package var answers: [Answer]
    /// The statuses of its refusals.
    package var failures: [Int] = []

    package init(
        tag: String, summary: String, parameters: [Parameter] = [], body: (type: String, schema: JSONValue)? = nil,
        answers: [Answer], failures: [Int] = []
    ) {
        self.tag = tag
        self.summary = summary
        self.parameters = parameters
        self.body = body
        self.answers = answers
        self.failures = failures
    }
}

/// Abbreviations for JSON Schema.
package enum Schema {
    package static let string: JSONValue = ["type": "string"]
    package static let integer: JSONValue = ["type": "integer"]
    package static let number: JSONValue = ["type": "number"]
    package static let boolean: JSONValue = ["type": "boolean"]
    package static let date: JSONValue = ["type": "string", "format": "date-time"]

    package static func ref(_ name: String) -> JSONValue { ["$ref": .string("#/components/schemas/\(name)")] }
    package static func list(of item: JSONValue) -> JSONValue { ["type": "array", "items": item] }
    package static func orNull(_ schema: JSONValue) -> JSONValue { ["anyOf": [schema, ["type": "null"]]] }
    package static func choice(_ values: [String]) -> JSONValue {
        ["type": "string", "enum": .array(values.map { .string($0) })]
    }
    package static func integer(_ range: ClosedRange<Int>) -> JSONValue {
        ["type": "integer", "minimum": .integer(range.lowerBound), "maximum": .integer(range.upperBound)]
    }
    package static func object(_ properties: [String: JSONValue], required: [String] = []) -> JSONValue {
        var schema: [String: JSONValue] = ["type": "object", "properties": .object(properties)]
        if !required.isEmpty { schema["required"] = .array(required.map { .string($0) }) }
        return .object(schema)
    }
}
