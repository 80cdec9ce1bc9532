/// Settings of rooms by their names (`rooms.presets`): a room takes them when it is made.
package struct RoomPresets: Hashable, Sendable {
    /// The settings of the rooms whose names match a pattern.
    package struct Preset: Hashable, Sendable {
        /// A room's name, or a pattern in which `*` stands for any characters.
        package let pattern: String
        package let change: RoomSettingsChange

        /// - Throws: the rule that the pattern or a setting breaks.
        package init(pattern: String, change: RoomSettingsChange) throws(ConferenceError) {
            guard Names.isRoom(pattern) else {
                throw .badRequest("a room's name, or a pattern with *, has \(Names.roomRule)")
            }
            var settings = RoomSettings()
            try settings.apply(change)
            self.pattern = pattern
            self.change = change
        }
    }

    /// The most presets.
    package static let most = 256

    private let presets: [Preset]

    /// - Parameter presets: in their order; of several patterns that match a name the first counts.
    package init(_ presets: [Preset] = []) {
        self.presets = presets
    }

    /// The layouts that presets name.
    var layouts: [String] {
        presets.flatMap { preset in
            [preset.change.layout, preset.change.onPresent?.layout].compactMap { $0 }
                + preset.change.views.values.compactMap { $0?.layout }
        }
    }

    /// The settings for a room: those of its own name, otherwise of the first pattern that matches it.
    func change(for room: String) -> RoomSettingsChange? {
        (presets.first { $0.pattern == room } ?? presets.first { Self.matches(room, $0.pattern) })?.change
    }

    /// Whether a name matches a pattern. Takes at most (length of the name) × (length of the pattern) steps.
    static func matches(_ name: String, _ pattern: String) -> Bool {
        let (name, pattern) = (Array(name), Array(pattern))
        var (at, place, star, mark) = (0, 0, -1, 0)
        while at < name.count {
            if place < pattern.count, pattern[place] == "*" {
                (star, mark) = (place, at)
                place += 1
            } else if place < pattern.count, pattern[place] == name[at] {
                at += 1
                place += 1
            } else if star >= 0 {
                // The last star takes one more character.
                mark += 1
                (at, place) = (mark, star + 1)
            } else {
                return false
            }
        }
        return pattern[place...].allSatisfy { $0 == "*" }
    }
}
