import Basics
import Foundation
import Testing

@testable import Conference
@testable import RoomMedia

@Suite("Layout while somebody presents")
struct PresentingLayoutTests {
    private func room(_ change: (inout RoomSettings) -> Void = { _ in }, with people: [String] = ["a", "b"])
        throws -> Room
    {
        var settings = RoomSettings()
        change(&settings)
        var room = Room(id: "r", settings: settings, createdAt: Date(timeIntervalSince1970: 0), at: .zero)
        room.layoutsWithPresentingRules = ["presentation", "stage"]
        for id in people {
            _ = try room.join(JoinRequest(room: "r", name: id), id: id, secret: "s", at: .zero)
        }
        return room
    }

    @Test("a room takes the layout while somebody presents, and its own returns after the last one")
    func presenting() throws {
        var room = try room()
        #expect(room.shownLayout == "grid")
        try room.present("a", true)
        #expect(room.shownLayout == "presentation" && room.settings.layout == "grid")
        try room.present("b", true)
        try room.present("a", false)
        #expect(room.shownLayout == "presentation")
        room.leave("b", at: .zero)
        #expect(room.shownLayout == "grid")
    }

    @Test("a presenter who becomes a viewer presents no more")
    func demoted() throws {
        var room = try room()
        try room.present("a", true)
        var change = ParticipantChange()
        change.role = .viewer
        try room.change("a", change)
        #expect(room.shownLayout == "grid")
    }

    @Test(
        "a layout with presenting rules keeps, and every layout where onPresent is off",
        arguments: [
            ("stage", OnPresent.layout("presentation"), "stage"), ("speaker", .layout("presentation"), "presentation"),
            ("speaker", .layout("single"), "single"), ("speaker", .off, "speaker"),
        ])
    func kept(layout: String, onPresent: OnPresent, shown: String) throws {
        var room = try room {
            $0.layout = layout
            $0.onPresent = onPresent
        }
        try room.present("a", true)
        #expect(room.shownLayout == shown)
    }

    @Test("a choice made while somebody presents wins until nobody does, also the choice of the room's own layout")
    func choices() throws {
        for name in ["speaker", "grid"] {
            var room = try room()
            try room.present("a", true)
            try room.setLayout(name, scope: .room, pins: nil, by: "b")
            #expect(room.shownLayout == name)
            try room.present("b", true)
            try room.present("a", false)
            #expect(room.shownLayout == name, "the presenting goes on")
            try room.present("b", false)
            #expect(room.shownLayout == name)
            try room.present("a", true)
            #expect(room.shownLayout == "presentation", "the choice was for the presenting before")
        }
    }

    @Test("the API's choice of a layout counts like a participant's, its other changes do not")
    func choiceOfTheAPI() throws {
        var room = try room()
        try room.present("a", true)
        var change = RoomSettingsChange()
        change.locked = true
        try room.change(change)
        #expect(room.shownLayout == "presentation")
        change.layout = "speaker"
        try room.change(change)
        #expect(room.shownLayout == "speaker")
        change = RoomSettingsChange()
        change.onPresent = .off
        try room.change(change)
        #expect(room.settings.onPresent == .off)
    }

    @Test("personal views follow by the same rules, each by its own choice, and those alike are shared")
    func personalViews() throws {
        var room = try room(with: ["a", "b", "c", "d"])
        try room.setLayout("speaker", scope: .me, pins: nil, by: "b")
        try room.setLayout("speaker", scope: .me, pins: ["a"], by: "c")
        try room.setLayout("stage", scope: .me, pins: nil, by: "d")
        let before = room
        try room.present("a", true)
        #expect(room.views["b"] == .room, "it shows the same as the room's")
        #expect(room.views["c"] == .personal(PersonalView(layout: "presentation", pins: ["a"])))
        #expect(room.views["d"] == .personal(PersonalView(layout: "stage", pins: [])))
        #expect(room.relaid(since: before) == ["a": "presentation", "b": "presentation", "c": "presentation"])

        try room.setLayout("speaker", scope: .me, pins: nil, by: "b")
        #expect(room.views["b"] == .personal(PersonalView(layout: "speaker", pins: [])))
        #expect(room.shownViews["c"]?.layout == "presentation", "another one's choice is not its")
        try room.present("a", false)
        #expect(room.views["b"] == .personal(PersonalView(layout: "speaker", pins: [])))
        #expect(room.views["c"] == .personal(PersonalView(layout: "speaker", pins: ["a"])))
    }

    @Test("who chooses the layout that the room shows gets the room's view, while somebody presents too")
    func backToTheRooms() throws {
        var room = try room()
        try room.present("a", true)
        try room.setLayout("grid", scope: .me, pins: nil, by: "b")
        #expect(room.views["b"] == .personal(PersonalView(layout: "grid", pins: [])))
        try room.setLayout("presentation", scope: .me, pins: nil, by: "b")
        #expect(room.member("b")?.view == nil)
    }

    @Test("a viewer who stands for a participant gets that one's view")
    func standIns() throws {
        var room = try room()
        var request = JoinRequest(room: "r", name: "w", kind: .viewer)
        request.asParticipant = "a"
        _ = try room.join(request, id: "w", secret: "s", at: .zero)
        try room.setLayout("speaker", scope: .me, pins: ["b"], by: "a")
        #expect(room.views["w"] == .personal(PersonalView(layout: "speaker", pins: ["b"])))
        try room.present("b", true)
        #expect(room.views["w"] == .personal(PersonalView(layout: "presentation", pins: ["b"])))
    }

    @Test("a layout that a room takes for presenting is in use")
    func use() throws {
        let room = try room()
        #expect(room.uses(["presentation"]) && room.uses(["grid"]) && !room.uses(["speaker"]))
    }

    @Test("the setting is the name of a layout, or off", arguments: ["off", "presentation", "Not A Layout", ""])
    func text(text: String) {
        let expected: OnPresent? =
            switch text {
            case "off": .off
            case "presentation": .layout("presentation")
            default: nil
            }
        #expect(OnPresent(text) == expected)
        if let expected { #expect(expected.text == text) }
    }
}
