import Basics
import Codecs

/// Reads single values of a layout file, and collects faults instead of stopping at the first.
struct LayoutReader {
    let file: String
    /// Returns the picture of a file.
    let picture: (String) -> Result<StillImage, LayoutImages.Fault>
    private(set) var faults: [LayoutFault] = []

    init(file: String, picture: @escaping (String) -> Result<StillImage, LayoutImages.Fault>) {
        self.file = file
        self.picture = picture
    }

    mutating func report(_ position: TextPosition, _ what: String, _ mend: String) {
        faults.append(LayoutFault(file: file, line: position.line, column: position.column, what: what, mend: mend))
    }

    mutating func checkIsObject(_ value: JSONValue, _ name: String) -> Bool {
        if case .object = value.node { return true }
        report(value.position, "\(name) is \(value.kind)", "write an object: { … }")
        return false
    }

    mutating func checkObject(_ value: JSONValue, _ name: String, _ keys: [String]) -> Bool {
        guard checkIsObject(value, name) else { return false }
        checkKeys(value, name, keys)
        return true
    }

    mutating func checkKeys(_ value: JSONValue, _ name: String, _ keys: [String]) {
        guard case .object(let members) = value.node else { return }
        for member in members where !keys.contains(member.key) {
            let mend =
                Spelling.nearest(member.key, among: keys).map { "did you mean \"\($0)\"?" }
                ?? "remove it; \(name) may have \(Self.listed(keys.filter { $0 != "$schema" && $0 != "comment" }))"
            report(member.position, "unknown key \"\(member.key)\" in \(name)", mend)
        }
        if let comment = value["comment"], case .string = comment.node {
        } else if let comment = value["comment"] {
            report(comment.position, "\"comment\" is \(comment.kind)", "put the text in \"quotes\"")
        }
    }

    mutating func member(_ object: JSONValue, _ key: String, required name: String?) -> JSONValue? {
        if let value = object[key] { return value }
        if let name { report(object.position, "\(name) has no \"\(key)\"", "add it") }
        return nil
    }

    mutating func text(_ object: JSONValue, _ key: String, required: String? = nil) -> (
        text: String, position: TextPosition
    )? {
        guard let value = member(object, key, required: required) else { return nil }
        if case .string(let text) = value.node { return (text, value.position) }
        report(value.position, "\"\(key)\" is \(value.kind)", "write a text in \"quotes\"")
        return nil
    }

    mutating func bool(_ object: JSONValue, _ key: String) -> Bool? {
        guard let value = object[key] else { return nil }
        if case .bool(let flag) = value.node { return flag }
        report(value.position, "\"\(key)\" is \(value.kind)", "write true or false")
        return nil
    }

    mutating func number(_ object: JSONValue, _ key: String, _ range: ClosedRange<Double>) -> Double? {
        guard let value = object[key] else { return nil }
        let allowed = "\(JSONValue.format(range.lowerBound)) to \(JSONValue.format(range.upperBound))"
        guard case .number(let number) = value.node else {
            report(
                value.position, "\"\(key)\" is \(value.kind)",
                "write a number from \(allowed), a fraction of the canvas")
            return nil
        }
        guard range.contains(number) else {
            report(
                value.position, "\"\(key)\" is \(JSONValue.format(number))",
                "use \(allowed): it is a fraction of the canvas")
            return nil
        }
        return number
    }

    mutating func integer(_ object: JSONValue, _ key: String, _ range: ClosedRange<Int>) -> Int? {
        object[key].flatMap { checkInteger($0, "\"\(key)\"", range) }
    }

    mutating func checkInteger(_ value: JSONValue, _ name: String, _ range: ClosedRange<Int>) -> Int? {
        if case .number(let number) = value.node, let whole = Int(exactly: number), range.contains(whole) {
            return whole
        }
        report(
            value.position, "\(name) is \(value.kind)",
            "write a whole number from \(range.lowerBound) to \(range.upperBound)")
        return nil
    }

    mutating func list(
        _ object: JSONValue, _ key: String, of name: String
    ) -> (values: [JSONValue], position: TextPosition)? {
        guard let value = member(object, key, required: name) else { return nil }
        guard case .array(let values) = value.node, !values.isEmpty, values.count <= 100 else {
            let kind =
                if case .array(let values) = value.node { values.isEmpty ? "an empty list" : "too long" } else {
                    value.kind
                }
            report(value.position, "\"\(key)\" is \(kind)", "write a list of 1 to 100 objects: [ { … } ]")
            return nil
        }
        return (values, value.position)
    }

    mutating func colour(_ object: JSONValue, _ key: String) -> Colour? {
        guard let colour = text(object, key) else { return nil }
        if let value = Colour(hexadecimal: colour.text) { return value }
        report(colour.position, "the colour \"\(colour.text)\"", "write it as \"#rrggbb\"")
        return nil
    }

    mutating func choice<Choice: CaseIterable & RawRepresentable<String>>(
        _ object: JSONValue, _ key: String, _ type: Choice.Type, required: String? = nil
    ) -> Choice? {
        choice(object, key, Choice.allCases.map(\.rawValue), required: required).flatMap { Choice(rawValue: $0) }
    }

    mutating func choice(_ object: JSONValue, _ key: String, _ allowed: [String], required: String? = nil)
        -> String?
    {
        member(object, key, required: required).flatMap { oneOf($0, "\"\(key)\"", allowed) }
    }

    mutating func oneOf(_ value: JSONValue, _ name: String, _ allowed: [String]) -> String? {
        guard case .string(let text) = value.node else {
            report(value.position, "\(name) is \(value.kind)", "write one of \(Self.listed(allowed))")
            return nil
        }
        if allowed.contains(text) { return text }
        let guess = Spelling.nearest(text, among: allowed)
        report(
            value.position, "\(name) is \"\(text.prefix(40))\"",
            guess.map { "did you mean \"\($0)\"?" } ?? "write one of \(Self.listed(allowed))")
        return nil
    }

    static func listed(_ words: [String]) -> String { words.map { "\"\($0)\"" }.joined(separator: ", ") }
}
