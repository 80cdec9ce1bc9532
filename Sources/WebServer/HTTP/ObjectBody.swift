import Basics

/// The JSON object in a request's body, without unknown members.
package struct ObjectBody: Sendable {
    package let members: [String: JSONValue]
    /// The place of the object in the body, `a.b`; empty: the body itself.
    private let place: String

    /// - Throws: 400 with the fault and its remedy.
    package init(_ bytes: [UInt8], keys: [String]) throws(APIError) {
        let value: JSONValue
        do {
            try JSONOutline.check(bytes, .requestBody)
            value = bytes.isEmpty ? [:] : try JSON.decode(JSONValue.self, from: bytes)
        } catch let error as Refusal {
            throw .badRequest("the body: " + error.message)
        } catch {
            throw .badRequest("the body: " + JSON.explain(error))
        }
        guard case .object(let members) = value else { throw .badRequest("the body must be a JSON object") }
        try self.init(.object(members), named: "", keys: keys)
    }

    /// An object in the body, at `place`.
    package init(_ value: JSONValue, named place: String, keys: [String]) throws(APIError) {
        guard case .object(let members) = value else { throw .badRequest("\(place): an object") }
        for key in members.keys.sorted() where !keys.contains(key) {
            let hint = Spelling.nearest(key, among: keys).map { "; did you mean \($0)?" } ?? ""
            let here = place.isEmpty ? "here" : "in \(place)"
            throw .badRequest("there is no key \(key) \(here)\(hint); allowed are \(keys.joined(separator: ", "))")
        }
        self.members = members
        self.place = place
    }

    /// The key as faults name it.
    package func key(_ key: String) -> String { place.isEmpty ? key : "\(place).\(key)" }

    package func object(_ key: String) throws(APIError) -> [String: JSONValue]? {
        try value(key, "an object") { if case .object(let value) = $0 { value } else { nil } }
    }

    package func list(_ key: String) throws(APIError) -> [JSONValue]? {
        try value(key, "a list") { if case .array(let value) = $0 { value } else { nil } }
    }

    package func integer(_ key: String) throws(APIError) -> Int? {
        try value(key, "a whole number") { if case .integer(let value) = $0 { value } else { nil } }
    }

    package func number(_ key: String) throws(APIError) -> Double? {
        try value(key, "a number") { value in
            switch value {
            case .integer(let value): Double(value)
            case .number(let value): value
            default: nil
            }
        }
    }

    package func bool(_ key: String) throws(APIError) -> Bool? {
        try value(key, "true or false") { if case .bool(let value) = $0 { value } else { nil } }
    }

    package func text(_ key: String) throws(APIError) -> String? {
        try value(key, "text") { if case .string(let value) = $0 { value } else { nil } }
    }

    package func choice<Choice: RawRepresentable & CaseIterable>(_ key: String, _ type: Choice.Type) throws(APIError)
        -> Choice?
    where Choice.RawValue == String {
        try value(key, "one of " + Choice.allCases.map(\.rawValue).joined(separator: ", ")) { value in
            if case .string(let text) = value { Choice(rawValue: text) } else { nil }
        }
    }

    /// nil where the key is missing or null.
    private func value<Value>(_ name: String, _ allowed: String, _ read: (JSONValue) -> Value?) throws(APIError)
        -> Value?
    {
        guard let member = members[name], member != .null else { return nil }
        guard let value = read(member) else { throw .badRequest("\(key(name)): \(allowed)") }
        return value
    }
}
