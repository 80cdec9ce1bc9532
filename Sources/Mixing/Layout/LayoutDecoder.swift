import Basics

extension Layout {
    /// Parses a layout file. `file` is used in messages only.
    ///
    /// All faults of the file are reported together, as far as its syntax allows.
    public static func parse(json bytes: [UInt8], file: String) throws(LayoutFaults) -> Layout {
        let root: JSONValue
        do {
            root = try JSONParser.parse(bytes)
        } catch {
            throw LayoutFaults([
                LayoutFault(
                    file: file, line: error.position.line, column: error.position.column, what: error.what,
                    mend: error.mend)
            ])
        }
        var decoder = LayoutDecoder(file: file)
        let layout = decoder.layout(root)
        guard decoder.faults.isEmpty else {
            throw LayoutFaults(decoder.faults.sorted { ($0.line, $0.column) < ($1.line, $1.column) })
        }
        return layout
    }
}

/// Converts JSON values to a layout, and collects faults instead of stopping at the first.
struct LayoutDecoder {
    let file: String
    private(set) var faults: [LayoutFault] = []

    init(file: String) {
        self.file = file
    }

    /// The keys of each object. `layouts/schema.json` has the same ones (a test compares them). Every object may have a
    /// `comment`.
    static let layoutKeys = [
        "$schema", "comment", "name", "description", "background", "gap", "names", "maxTiles", "rules",
    ]
    static let ruleKeys = ["comment", "when", "regions"]
    static let conditionKeys = ["comment", "people", "presenting", "pinned"]
    static let frameKeys = ["comment", "kind", "x", "y", "width", "height", "fit", "names", "layer"]
    static let slotKeys = frameKeys + ["role"]
    static let gridKeys = frameKeys + ["columns", "maxTiles", "aspect"]
    static let stripKeys = frameKeys + ["direction", "align", "maxTiles", "aspect"]
    static let kinds = ["slot", "grid", "strip"]

    private mutating func report(_ position: TextPosition, _ what: String, _ mend: String) {
        faults.append(LayoutFault(file: file, line: position.line, column: position.column, what: what, mend: mend))
    }

    // MARK: The objects

    mutating func layout(_ root: JSONValue) -> Layout {
        var layout = Layout(
            name: "", description: "", background: .canvas, gap: 0, names: true, maxTiles: 50, rules: [])
        guard checkObject(root, "the layout", Self.layoutKeys) else { return layout }
        if let name = text(root, "name", required: "the layout") {
            layout.name = name.text
            if !Layout.isName(name.text) {
                report(name.position, "the name \"\(name.text)\"", "use 1 to 64 of a-z, 0-9, '-' and '_'")
            }
        }
        if let description = text(root, "description", required: "the layout") {
            layout.description = description.text
            if description.text.isEmpty {
                report(description.position, "an empty description", "say in a sentence what people see")
            }
        }
        if let colour = text(root, "background") {
            if let value = Colour(hexadecimal: colour.text) {
                layout.background = value
            } else {
                report(colour.position, "the colour \"\(colour.text)\"", "write it as \"#rrggbb\"")
            }
        }
        layout.gap = number(root, "gap", 0...0.2) ?? 0
        layout.names = bool(root, "names") ?? true
        layout.maxTiles = integer(root, "maxTiles", 1...Layout.largestMaxTiles) ?? 50
        guard let rules = list(root, "rules", of: "the layout") else { return layout }
        layout.rules = rules.values.map { rule($0) }
        checkCoverage(layout.rules, rules.position)
        return layout
    }

    private mutating func rule(_ value: JSONValue) -> Layout.Rule {
        var rule = Layout.Rule(condition: Layout.Condition(), regions: [])
        guard checkObject(value, "a rule", Self.ruleKeys) else { return rule }
        if let when = value["when"], checkObject(when, "\"when\"", Self.conditionKeys) {
            rule.condition.presenting = bool(when, "presenting")
            rule.condition.pinned = bool(when, "pinned")
            if let people = when["people"] { peopleRange(people, &rule.condition) }
        }
        guard let regions = list(value, "regions", of: "a rule") else { return rule }
        let faultsBefore = faults.count
        rule.regions = regions.values.map { region($0) }
        // Regions with reported faults are not checked for overlaps, which would only follow from those faults.
        if faults.count == faultsBefore { checkOverlaps(rule.regions, regions.values.map(\.position)) }
        return rule
    }

    /// Reads `3`, `[2, 4]`, or `[5, null]` for five and more.
    private mutating func peopleRange(_ value: JSONValue, _ condition: inout Layout.Condition) {
        let mend = "write a number, [from, to], or [from, null] for no upper end"
        switch value.node {
        case .number:
            guard let count = checkInteger(value, "\"people\"", 0...10_000) else { return }
            condition.minPeople = count
            condition.maxPeople = count
        case .array(let ends) where ends.count == 2:
            if case .null = ends[0].node {
            } else {
                condition.minPeople = checkInteger(ends[0], "\"people\"", 0...10_000)
            }
            if case .null = ends[1].node {
            } else {
                condition.maxPeople = checkInteger(ends[1], "\"people\"", 0...10_000)
            }
            if let from = condition.minPeople, let to = condition.maxPeople, from > to {
                report(
                    value.position, "\"people\" from \(from) to \(to), which is nobody", "put the smaller number first")
            }
        default: report(value.position, "\"people\" is \(value.kind)", mend)
        }
    }

    private mutating func region(_ value: JSONValue) -> Layout.Region {
        var region = Layout.Region(
            kind: .slot(roles: [.any]), x: 0, y: 0, width: 1, height: 1, fit: .auto, names: nil, layer: 0)
        guard checkIsObject(value, "a region") else { return region }
        guard let kind = choice(value, "kind", Self.kinds, required: "a region") else { return region }
        let keys = kind == "slot" ? Self.slotKeys : kind == "grid" ? Self.gridKeys : Self.stripKeys
        checkKeys(value, "a \(kind)", keys)
        region.x = number(value, "x", 0...1) ?? 0
        region.y = number(value, "y", 0...1) ?? 0
        region.width = number(value, "width", 0.01...1) ?? max(0, 1 - region.x)
        region.height = number(value, "height", 0.01...1) ?? max(0, 1 - region.y)
        checkInside(value, "x", "width", region.x, region.width)
        checkInside(value, "y", "height", region.y, region.height)
        region.fit = choice(value, "fit", TileFit.allCases.map(\.rawValue)).flatMap(TileFit.init) ?? .auto
        region.names = bool(value, "names")
        region.layer = integer(value, "layer", 0...9) ?? 0
        let maxTiles = kind == "slot" ? nil : integer(value, "maxTiles", 1...Layout.largestMaxTiles)
        let aspect = kind == "slot" ? .wide : aspect(value)
        switch kind {
        case "slot": region.kind = .slot(roles: roles(value))
        case "grid": region.kind = .grid(columns: columns(value), maxTiles: maxTiles, aspect: aspect)
        default:
            let direction = choice(value, "direction", Layout.Direction.allCases.map(\.rawValue)).flatMap(
                Layout.Direction.init)
            let align = choice(value, "align", Layout.Alignment.allCases.map(\.rawValue)).flatMap(Layout.Alignment.init)
            region.kind = .strip(
                direction: direction ?? (region.width >= region.height ? .row : .column), align: align ?? .center,
                maxTiles: maxTiles,
                aspect: aspect)
        }
        return region
    }

    private mutating func roles(_ value: JSONValue) -> [Layout.Role] {
        let names = Layout.Role.allCases.map(\.rawValue)
        guard let role = value["role"] else { return [.any] }
        if case .array(let entries) = role.node {
            if entries.isEmpty {
                report(role.position, "\"role\" is an empty list", "name one of \(Self.listed(names))")
            }
            return entries.compactMap { oneOf($0, "\"role\"", names).flatMap(Layout.Role.init) }
        }
        return oneOf(role, "\"role\"", names).flatMap(Layout.Role.init).map { [$0] } ?? [.any]
    }

    private mutating func columns(_ value: JSONValue) -> Int? {
        guard let columns = value["columns"] else { return nil }
        if case .string("auto") = columns.node { return nil }
        guard case .number = columns.node else {
            report(columns.position, "\"columns\" is \(columns.kind)", "write \"auto\" or a whole number from 1 to 20")
            return nil
        }
        return checkInteger(columns, "\"columns\"", 1...20)
    }

    /// Reads `"16:9"`, `1.5`, `[1.33, "16:9"]` or `"fill"`.
    private mutating func aspect(_ value: JSONValue) -> Layout.Aspect {
        guard let aspect = value["aspect"] else { return .wide }
        if case .string("fill") = aspect.node { return .fill }
        if case .array(let ends) = aspect.node, ends.count == 2 {
            guard let first = ratio(ends[0]), let second = ratio(ends[1]) else { return .wide }
            return Layout.Aspect(narrowest: min(first, second), widest: max(first, second))
        }
        return ratio(aspect).map { Layout.Aspect(narrowest: $0, widest: $0) } ?? .wide
    }

    private mutating func ratio(_ value: JSONValue) -> Double? {
        let mend = "write \"16:9\", a number from 0.2 to 5, a list of two of these, or \"fill\""
        var ratio: Double?
        switch value.node {
        case .number(let number): ratio = number
        case .string(let text):
            let parts = text.split(separator: ":", omittingEmptySubsequences: false).map { Double($0) }
            if parts.count == 2, let width = parts[0], let height = parts[1], height > 0 { ratio = width / height }
        default: break
        }
        guard let ratio, (0.2...5).contains(ratio) else {
            report(value.position, "the aspect \(value.kind)", mend)
            return nil
        }
        return ratio
    }

    // MARK: Checks across several values

    private mutating func checkInside(
        _ region: JSONValue, _ start: String, _ extent: String, _ from: Double, _ size: Double
    ) {
        guard from + size > 1 + 1e-6, let place = region[extent] ?? region[start] else { return }
        let end = JSONValue.format(((from + size) * 10_000).rounded() / 10_000)
        report(
            place.position, "\"\(start)\" + \"\(extent)\" is \(end), outside the canvas",
            "make \"\(extent)\" at most \(JSONValue.format(((1 - from) * 10_000).rounded() / 10_000))")
    }

    private mutating func checkOverlaps(_ regions: [Layout.Region], _ positions: [TextPosition]) {
        for (index, upper) in regions.enumerated() {
            let lower = regions[..<index].firstIndex { lower in
                let slack = 1e-6
                return lower.layer == upper.layer && lower.x + slack < upper.x + upper.width
                    && upper.x + slack < lower.x + lower.width
                    && lower.y + slack < upper.y + upper.height && upper.y + slack < lower.y + lower.height
            }
            if let lower {
                report(
                    positions[index], "this region overlaps the one of line \(positions[lower].line)",
                    "move it, or give the one that lies above a higher \"layer\"")
            }
        }
    }

    /// Reports a number of participants for which no rule applies.
    private mutating func checkCoverage(_ rules: [Layout.Rule], _ position: TextPosition) {
        for presenting in [false, true] {
            for pinned in [false, true] {
                let uncovered = (1...200).first { people in
                    !rules.contains { $0.condition.matches(people: people, presenting: presenting, pinned: pinned) }
                }
                guard let uncovered else { continue }
                let state = (presenting ? " while somebody presents" : "") + (pinned ? " with somebody pinned" : "")
                report(
                    position, "no rule fits \(uncovered) \(uncovered == 1 ? "person" : "people")\(state)",
                    "add a last rule without \"when\"")
                return
            }
        }
    }

    // MARK: Single values

    private mutating func checkIsObject(_ value: JSONValue, _ name: String) -> Bool {
        if case .object = value.node { return true }
        report(value.position, "\(name) is \(value.kind)", "write an object: { … }")
        return false
    }

    private mutating func checkObject(_ value: JSONValue, _ name: String, _ keys: [String]) -> Bool {
        guard checkIsObject(value, name) else { return false }
        checkKeys(value, name, keys)
        return true
    }

    private mutating func checkKeys(_ value: JSONValue, _ name: String, _ keys: [String]) {
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

    private mutating func member(_ object: JSONValue, _ key: String, required name: String?) -> JSONValue? {
        if let value = object[key] { return value }
        if let name { report(object.position, "\(name) has no \"\(key)\"", "add it") }
        return nil
    }

    private mutating func text(_ object: JSONValue, _ key: String, required: String? = nil) -> (
        text: String, position: TextPosition
    )? {
        guard let value = member(object, key, required: required) else { return nil }
        if case .string(let text) = value.node { return (text, value.position) }
        report(value.position, "\"\(key)\" is \(value.kind)", "write a text in \"quotes\"")
        return nil
    }

    private mutating func bool(_ object: JSONValue, _ key: String) -> Bool? {
        guard let value = object[key] else { return nil }
        if case .bool(let flag) = value.node { return flag }
        report(value.position, "\"\(key)\" is \(value.kind)", "write true or false")
        return nil
    }

    private mutating func number(_ object: JSONValue, _ key: String, _ range: ClosedRange<Double>) -> Double? {
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

    private mutating func integer(_ object: JSONValue, _ key: String, _ range: ClosedRange<Int>) -> Int? {
        object[key].flatMap { checkInteger($0, "\"\(key)\"", range) }
    }

    private mutating func checkInteger(_ value: JSONValue, _ name: String, _ range: ClosedRange<Int>) -> Int? {
        if case .number(let number) = value.node, let whole = Int(exactly: number), range.contains(whole) {
            return whole
        }
        report(
            value.position, "\(name) is \(value.kind)",
            "write a whole number from \(range.lowerBound) to \(range.upperBound)")
        return nil
    }

    private mutating func list(
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

    private mutating func choice(_ object: JSONValue, _ key: String, _ allowed: [String], required: String? = nil)
        -> String?
    {
        member(object, key, required: required).flatMap { oneOf($0, "\"\(key)\"", allowed) }
    }

    private mutating func oneOf(_ value: JSONValue, _ name: String, _ allowed: [String]) -> String? {
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

    private static func listed(_ words: [String]) -> String { words.map { "\"\($0)\"" }.joined(separator: ", ") }
}
