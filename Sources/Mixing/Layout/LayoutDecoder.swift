import Basics

extension Layout {
    /// Parses a layout file. `file` is used in messages only.
    ///
    /// - Parameter images: the pictures that the layout may show.
    ///
    /// All faults of the file are reported together, as far as its syntax allows.
    package static func parse(
        json bytes: [UInt8], file: String, images: LayoutImages = LayoutImages(directory: nil)
    ) throws(LayoutFaults) -> Layout {
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
        var decoder = LayoutDecoder(file: file, images: images)
        let layout = decoder.layout(root)
        guard decoder.read.faults.isEmpty else {
            throw LayoutFaults(decoder.read.faults.sorted { ($0.line, $0.column) < ($1.line, $1.column) })
        }
        return layout
    }
}

/// Converts JSON values to a layout.
struct LayoutDecoder {
    private(set) var read: LayoutReader

    init(file: String, images: LayoutImages) {
        read = LayoutReader(file: file) { images.picture($0) }
    }

    /// The keys of each object. `layouts/schema.json` has the same ones (a test compares them). Every object may have a
    /// `comment`.
    static let layoutKeys = [
        "$schema", "comment", "name", "description", "background", "gap", "names", "maxTiles", "order", "self",
        "withoutVideo", "border", "label", "rules",
    ]
    static let ruleKeys = ["comment", "when", "regions"]
    static let conditionKeys = ["comment", "people", "presenting", "pinned", "canvas"]

    static let borderKeys = ["comment", "width", "colour", "speaking", "radius"]
    static let labelKeys = ["comment", "place", "size", "colour", "background", "opacity"]

    // MARK: The objects

    mutating func layout(_ root: JSONValue) -> Layout {
        var layout = Layout(
            name: "", description: "", background: .canvas, gap: 0, names: true, maxTiles: 50, rules: [])
        let translations = translations(of: root)
        guard read.checkObject(root, "the layout", Self.layoutKeys + translations.map(\.key)) else { return layout }
        if let name = read.text(root, "name", required: "the layout") {
            layout.name = name.text
            if !LayoutDocument.isName(name.text) {
                read.report(name.position, "the name \"\(name.text)\"", "use \(LayoutDocument.nameRule)")
            }
        }
        if let description = read.text(root, "description", required: "the layout") {
            layout.description = description.text
            if description.text.isEmpty {
                read.report(description.position, "an empty description", "say in a sentence what people see")
            }
        }
        for (key, language) in translations {
            if let translation = read.text(root, key), !translation.text.isEmpty {
                layout.descriptions[language] = translation.text
            }
        }
        layout.background = read.colour(root, "background") ?? .canvas
        layout.gap = read.number(root, "gap", 0...0.2) ?? 0
        layout.names = read.bool(root, "names") ?? true
        layout.maxTiles = read.integer(root, "maxTiles", 1...Layout.largestMaxTiles) ?? 50
        layout.order = read.choice(root, "order", Layout.Order.self) ?? .place
        layout.showsSelf = read.choice(root, "self", ["show", "hide"]) != "hide"
        layout.withoutVideo = read.choice(root, "withoutVideo", Layout.WithoutVideo.self) ?? .show
        layout.style = style(root)
        guard let rules = read.list(root, "rules", of: "the layout") else { return layout }
        layout.rules = rules.values.map { rule($0) }
        checkCoverage(layout.rules, rules.position)
        return layout
    }

    /// The keys of the description in other languages: `description.de`, and so on.
    private func translations(of root: JSONValue) -> [(key: String, language: String)] {
        guard case .object(let members) = root.node else { return [] }
        return members.compactMap { member in
            let parts = member.key.split(separator: ".", omittingEmptySubsequences: false)
            guard parts.count == 2, parts[0] == "description", Self.isLanguage(parts[1]) else { return nil }
            return (member.key, String(parts[1]))
        }
    }

    /// Whether a text has the form of a language tag: `de`, `pt-BR`.
    private static func isLanguage(_ tag: Substring) -> Bool {
        let parts = tag.split(separator: "-", omittingEmptySubsequences: false)
        return tag.utf8.count <= 35 && (2...8).contains(parts[0].count) && parts[0].allSatisfy(\.isLetter)
            && parts.allSatisfy {
                (1...8).contains($0.count) && $0.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) }
            }
    }

    private mutating func style(_ root: JSONValue) -> TileStyle {
        var style = TileStyle()
        if let border = root["border"], read.checkObject(border, "\"border\"", Self.borderKeys) {
            style.borderWidth = read.number(border, "width", 0...0.05) ?? style.borderWidth
            style.border = read.colour(border, "colour")
            style.speaking = read.colour(border, "speaking") ?? style.speaking
            style.radius = read.number(border, "radius", 0...0.2) ?? 0
        }
        if let label = root["label"], read.checkObject(label, "\"label\"", Self.labelKeys) {
            style.label.place = read.choice(label, "place", LabelStyle.Place.self) ?? .bottomLeft
            style.label.size = read.number(label, "size", 0.01...0.2)
            style.label.paint.colour = read.colour(label, "colour") ?? style.label.paint.colour
            style.label.paint.background = read.colour(label, "background") ?? style.label.paint.background
            style.label.paint.opacity = read.number(label, "opacity", 0...1) ?? style.label.paint.opacity
        }
        return style
    }

    private mutating func rule(_ value: JSONValue) -> Layout.Rule {
        var rule = Layout.Rule(condition: Layout.Condition(), regions: [])
        guard read.checkObject(value, "a rule", Self.ruleKeys) else { return rule }
        if let when = value["when"], read.checkObject(when, "\"when\"", Self.conditionKeys) {
            rule.condition.presenting = read.bool(when, "presenting")
            rule.condition.pinned = read.bool(when, "pinned")
            rule.condition.canvas = read.choice(when, "canvas", Layout.CanvasShape.self)
            if let people = when["people"] { peopleRange(people, &rule.condition) }
        }
        guard let regions = read.list(value, "regions", of: "a rule") else { return rule }
        let faultsBefore = read.faults.count
        rule.regions = regions.values.map { RegionDecoder.region($0, &read) }
        // Regions with reported faults are not checked for overlaps, which would only follow from those faults.
        if read.faults.count == faultsBefore { checkOverlaps(rule.regions, regions.values.map(\.position)) }
        return rule
    }

    /// Reads `3`, `[2, 4]`, or `[5, null]` for five and more.
    private mutating func peopleRange(_ value: JSONValue, _ condition: inout Layout.Condition) {
        let mend = "write a number, [from, to], or [from, null] for no upper end"
        switch value.node {
        case .number:
            guard let count = read.checkInteger(value, "\"people\"", 0...10_000) else { return }
            condition.minPeople = count
            condition.maxPeople = count
        case .array(let ends) where ends.count == 2:
            if case .null = ends[0].node {
            } else {
                condition.minPeople = read.checkInteger(ends[0], "\"people\"", 0...10_000)
            }
            if case .null = ends[1].node {
            } else {
                condition.maxPeople = read.checkInteger(ends[1], "\"people\"", 0...10_000)
            }
            if let from = condition.minPeople, let to = condition.maxPeople, from > to {
                read.report(
                    value.position, "\"people\" from \(from) to \(to), which is nobody", "put the smaller number first")
            }
        default: read.report(value.position, "\"people\" is \(value.kind)", mend)
        }
    }

    // MARK: Checks across several values

    private mutating func checkOverlaps(_ regions: [Layout.Region], _ positions: [TextPosition]) {
        for (index, upper) in regions.enumerated() {
            let lower = regions[..<index].firstIndex { lower in
                let slack = 1e-6
                return lower.holdsPeople && upper.holdsPeople && lower.layer == upper.layer
                    && lower.x + slack < upper.x + upper.width
                    && upper.x + slack < lower.x + lower.width
                    && lower.y + slack < upper.y + upper.height && upper.y + slack < lower.y + lower.height
            }
            if let lower {
                read.report(
                    positions[index], "this region overlaps the one of line \(positions[lower].line)",
                    "move it, or give the one that lies above a higher \"layer\"")
            }
        }
    }

    /// Reports a number of participants for which no rule applies.
    private mutating func checkCoverage(_ rules: [Layout.Rule], _ position: TextPosition) {
        for canvas in Layout.CanvasShape.allCases {
            for (presenting, pinned) in [(false, false), (false, true), (true, false), (true, true)] {
                let uncovered = (1...200).first { people in
                    !rules.contains {
                        $0.condition.matches(people: people, presenting: presenting, pinned: pinned, canvas: canvas)
                    }
                }
                guard let uncovered else { continue }
                let state =
                    (presenting ? " while somebody presents" : "") + (pinned ? " with somebody pinned" : "")
                    + (canvas == .portrait ? " on a portrait canvas" : "")
                read.report(
                    position, "no rule fits \(uncovered) \(uncovered == 1 ? "person" : "people")\(state)",
                    "add a last rule without \"when\"")
                return
            }
        }
    }
}
