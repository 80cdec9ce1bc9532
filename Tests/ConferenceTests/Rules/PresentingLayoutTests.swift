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
            _ = try room.join(AdmittedJoin(room: "r", name: id), id: id, secret: "s", at: .zero)
        }
        return room
    }

    private func choose(_ layout: String, pins: [String]?, by id: String, in room: inout Room) throws {
        try room.choose(room.choice(layout, pins: pins, by: id), by: id)
    }

    private func roomLayout(_ room: Room) -> String { room.shown(.main).name }

    @Test("a room takes the layout while somebody presents, and its own returns after the last one")
    func presenting() throws {
        var room = try room()
        #expect(roomLayout(room) == "grid")
        try room.present("a", true)
        #expect(roomLayout(room) == "presentation" && room.settings.layout == "grid")
        try room.present("b", true)
        try room.present("a", false)
        #expect(roomLayout(room) == "presentation")
        room.leave("b", at: .zero)
        #expect(roomLayout(room) == "grid")
    }

    @Test("a presenter who becomes a viewer presents no more")
    func demoted() throws {
        var room = try room()
        try room.present("a", true)
        var change = ParticipantChange()
        change.role = .viewer
        try room.change("a", change)
        #expect(roomLayout(room) == "grid")
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
        #expect(roomLayout(room) == shown)
    }

    @Test("a choice made while somebody presents wins until nobody does, also the choice of the room's own layout")
    func choices() throws {
        for name in ["speaker", "grid"] {
            var room = try room()
            try room.present("a", true)
            try room.setLayout(name, pins: nil, by: "b")
            #expect(roomLayout(room) == name)
            try room.present("b", true)
            try room.present("a", false)
            #expect(roomLayout(room) == name, "the presenting goes on")
            try room.present("b", false)
            #expect(roomLayout(room) == name)
            try room.present("a", true)
            #expect(roomLayout(room) == "presentation", "the choice was for the presenting before")
        }
    }

    @Test("the API's choice of a layout counts like a participant's, its other changes do not")
    func choiceOfTheAPI() throws {
        var room = try room()
        try room.present("a", true)
        var change = RoomSettingsChange()
        change.locked = true
        try room.change(change)
        #expect(roomLayout(room) == "presentation")
        change.layout = "speaker"
        try room.change(change)
        #expect(roomLayout(room) == "speaker")
        change = RoomSettingsChange()
        change.onPresent = .off
        try room.change(change)
        #expect(room.settings.onPresent == .off)
    }

    @Test("personal views follow by the same rules, each by its own choice, and those alike are shared")
    func personalViews() throws {
        var room = try room(with: ["a", "b", "c", "d"])
        try choose("speaker", pins: nil, by: "b", in: &room)
        try choose("speaker", pins: ["a"], by: "c", in: &room)
        try choose("stage", pins: nil, by: "d", in: &room)
        try room.present("a", true)
        #expect(room.views["b"] == .main, "it shows the same as the room's")
        #expect(room.views["c"] == ViewID("main", choice: ViewChoice(layout: "presentation", pins: ["a"])))
        #expect(room.views["d"] == ViewID("main", choice: ViewChoice(layout: "stage", pins: [])))

        try choose("speaker", pins: nil, by: "b", in: &room)
        #expect(room.views["b"] == ViewID("main", choice: ViewChoice(layout: "speaker", pins: [])))
        #expect(room.views["c"]?.choice?.layout == "presentation", "another one's choice is not its")
        try room.present("a", false)
        #expect(room.views["b"] == ViewID("main", choice: ViewChoice(layout: "speaker", pins: [])))
        #expect(room.views["c"] == ViewID("main", choice: ViewChoice(layout: "speaker", pins: ["a"])))
    }

    @Test("who chooses the layout that the room shows gets the room's view, while somebody presents too")
    func backToTheRooms() throws {
        var room = try room()
        try room.present("a", true)
        try choose("grid", pins: nil, by: "b", in: &room)
        #expect(room.views["b"] == ViewID("main", choice: ViewChoice(layout: "grid", pins: [])))
        try choose("presentation", pins: nil, by: "b", in: &room)
        #expect(room.member("b")?.choice == nil)
    }

    @Test("a viewer who stands for a participant gets that one's view")
    func standIns() throws {
        var room = try room()
        var request = AdmittedJoin(room: "r", name: "w", kind: .viewer)
        request.asParticipant = "a"
        _ = try room.join(request, id: "w", secret: "s", at: .zero)
        try choose("speaker", pins: ["b"], by: "a", in: &room)
        #expect(room.views["w"] == ViewID("main", choice: ViewChoice(layout: "speaker", pins: ["b"])))
        try room.present("b", true)
        #expect(room.views["w"] == ViewID("main", choice: ViewChoice(layout: "presentation", pins: ["b"])))
    }

    @Test("named views follow by the same rules, each by its own layout")
    func namedViews() throws {
        var guests = ViewSettings()
        guests.layout = "stage"
        var room = try room { $0.views = ["guests": guests] }
        try room.present("a", true)
        #expect(room.shown(ViewID("portrait")).name == "presentation" && room.shown(ViewID("guests")).name == "stage")
        try room.setLayout("grid", pins: nil, by: "b")
        #expect(room.shown(ViewID("portrait")).name == "grid", "what is chosen for the room is chosen for it too")
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
