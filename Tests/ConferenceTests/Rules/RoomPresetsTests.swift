import Testing

@testable import Conference

@Suite("Presets of rooms") struct RoomPresetsTests {
    private func preset(_ pattern: String, _ layout: String) throws -> RoomPresets.Preset {
        var change = RoomSettingsChange()
        change.layout = layout
        return try RoomPresets.Preset(pattern: pattern, change: change)
    }

    @Test(
        "A star stands for any characters",
        arguments: [
            ("board", "board", true), ("board", "*", true), ("board", "b*d", true), ("board", "*oa*", true),
            ("board", "board*", true), ("board", "b*x", false), ("board", "boar", false), ("board", "oard", false),
            ("a-b-a-b-c", "a*b-c", true), ("", "*", true), ("b*", "b*", true),
        ])
    func matches(name: String, pattern: String, expected: Bool) {
        #expect(RoomPresets.matches(name, pattern) == expected)
    }

    @Test("Many stars take no long time") func manyStars() {
        let pattern = String(repeating: "a*", count: 30) + "b"
        #expect(!RoomPresets.matches(String(repeating: "a", count: 64), pattern))
    }

    @Test("A room's own name counts before patterns, and the first pattern before others") func precedence() throws {
        let presets = RoomPresets([
            try preset("*", "grid"), try preset("board-*", "speaker"), try preset("board-1", "single"),
        ])
        #expect(presets.change(for: "board-1")?.layout == "single")
        #expect(presets.change(for: "board-2")?.layout == "grid")
        let ordered = RoomPresets([try preset("board-*", "speaker"), try preset("*", "grid")])
        #expect(ordered.change(for: "board-2")?.layout == "speaker")
        #expect(ordered.change(for: "x")?.layout == "grid")
        #expect(RoomPresets([try preset("a", "grid")]).change(for: "b") == nil)
    }

    @Test("A preset that no room could have is refused") func invalid() {
        #expect(throws: ConferenceError.self) { _ = try preset("a/b", "grid") }
        var change = RoomSettingsChange()
        change.width = 641
        #expect(throws: ConferenceError.self) { _ = try RoomPresets.Preset(pattern: "a", change: change) }
    }
}
