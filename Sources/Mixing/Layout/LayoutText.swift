/// A line of text in the picture, with placeholders such as `{room}`.
package struct LayoutText: Hashable, Sendable {
    /// The placeholders of a text.
    package enum Placeholder: String, Hashable, Sendable, CaseIterable {
        /// The room's name.
        case room
        /// Hours and minutes, and the date, in the server's time zone.
        case time, date
        /// The number of people who may have a tile.
        case people
        /// How many of them have none, as `+3`.
        case more
        /// The name of the active speaker while that one has no tile.
        case speaker
    }

    enum Part: Hashable, Sendable {
        case literal(String)
        case placeholder(Placeholder)
    }

    /// The position of the text in its frame.
    package var align: Layout.Alignment
    package var colour: Colour
    /// The colour of the frame behind the text; nil: the text has no ground.
    package var background: Colour?
    /// The most characters of a text in the file.
    static let longest = 200

    let parts: [Part]

    /// - Throws: the unknown placeholder.
    init(
        _ text: String, align: Layout.Alignment = .center, colour: Colour = Colour(0xFFFFFF), background: Colour? = nil
    ) throws(UnknownPlaceholder) {
        self.align = align
        self.colour = colour
        self.background = background
        var parts: [Part] = []
        var rest = Substring(text)
        while let open = rest.firstIndex(of: "{") {
            if open > rest.startIndex { parts.append(.literal(String(rest[..<open]))) }
            let close = rest[open...].firstIndex(of: "}") ?? rest.endIndex
            let name = String(rest[rest.index(after: open)..<close])
            guard close < rest.endIndex, let placeholder = Placeholder(rawValue: name) else {
                throw UnknownPlaceholder(name: name)
            }
            parts.append(.placeholder(placeholder))
            rest = rest[rest.index(after: close)...]
        }
        if !rest.isEmpty { parts.append(.literal(String(rest))) }
        self.parts = parts
    }

    struct UnknownPlaceholder: Error {
        var name: String
    }

    /// The text with its placeholders replaced; nil where it has placeholders and all are empty, so that a line such as
    /// `{speaker} speaks` vanishes as a whole.
    func filled(_ value: (Placeholder) -> String) -> String? {
        var (text, hasPlaceholder, hasValue) = ("", false, false)
        for part in parts {
            switch part {
            case .literal(let literal): text += literal
            case .placeholder(let placeholder):
                let value = value(placeholder)
                hasPlaceholder = true
                hasValue = hasValue || !value.isEmpty
                text += value
            }
        }
        return hasPlaceholder && !hasValue ? nil : text
    }
}
