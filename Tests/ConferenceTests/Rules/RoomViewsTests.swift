import Basics
import Foundation
import RoomMedia
import Testing

@testable import Conference

@Suite("Views of a room")
struct RoomViewsTests {
    private let now = Instant(nanoseconds: 1)

    private func room(_ ids: [String], _ views: [String: ViewSettings] = [:]) throws -> Room {
        var settings = RoomSettings()
        settings.views = views
        var room = Room(id: "r", settings: settings, createdAt: Date(), at: now)
        for id in ids { _ = try room.join(AdmittedJoin(room: "r", name: id), id: id, secret: "s", at: now) }
        return room
    }

    private func view(_ change: (inout ViewSettings) -> Void) -> ViewSettings {
        var view = ViewSettings()
        change(&view)
        return view
    }

    private func shown(_ room: Room, _ id: String) -> ShownLayout? {
        room.member(id).map { room.shown(room.view(of: $0)) }
    }

    @Test("a view of the settings has its size and layout, and the one for presenting unless it has rules for that")
    func configured() throws {
        var settings = RoomSettings()
        (settings.layout, settings.width, settings.height) = ("speaker", 640, 360)
        var wall = ViewSettings()
        (wall.layout, wall.width, wall.names) = ("stage", 900, false)
        settings.views = ["wall": wall]
        func view(_ name: String, presenting: Bool = false) -> ViewInfo? {
            settings.view(name, presenting: presenting, withOwnRules: ["stage"])
        }
        let found = try #require(view("wall"))
        #expect(found.shown.name == "stage" && (found.width, found.height) == (900, 360) && found.names == false)
        #expect(view("wall", presenting: true)?.shown.name == "stage")
        #expect(view("main")?.shown.name == "speaker" && view("main", presenting: true)?.shown.name == "presentation")
        settings.onPresent = .off
        #expect(view("main", presenting: true)?.shown.name == "speaker")
        #expect(view("portrait")?.height == 640 && view("none") == nil)
    }

    @Test("an own choice ends when it equals the view's layout, and drops pins of participants that left")
    func choices() throws {
        var room = try room(["a", "b", "c"])
        try room.choose(room.choice("speaker", pins: ["c", "b", "nobody", "c"], by: "a"), by: "a")
        #expect(shown(room, "a") == ShownLayout(name: "speaker", scope: .me, pins: ["c", "b"]), "in their order")
        room.leave("b", at: now)
        #expect(shown(room, "a")?.pins == ["c"])
        #expect(room.choice(nil, pins: [], by: "a") == ViewChoice(layout: "speaker", pins: []), "the pins alone end")
        #expect(room.choice(nil, pins: nil, by: "a") == nil, "the whole choice ends")
        try room.choose(room.choice("grid", pins: nil, by: "a"), by: "a")
        #expect(room.member("a")?.choice == nil && shown(room, "a")?.scope == .room)
    }

    @Test("equal pictures are one view, however participants came to them")
    func equal() throws {
        var room = try room(["a", "b", "c"])
        for id in ["a", "b"] {
            try room.show("portrait", to: id)
            try room.choose(room.choice("speaker", pins: ["c"], by: id), by: id)
        }
        #expect(Set(room.views.values).count == 2 && room.views["a"] == room.views["b"])
        try room.choose(room.choice("speaker", pins: [], by: "c"), by: "c")
        #expect(room.views["c"] == ViewID("main", choice: ViewChoice(layout: "speaker", pins: [])))
        // The room takes the layout that somebody has chosen already: one picture for all.
        try room.setLayout("speaker", pins: nil, by: "a")
        #expect(room.views["c"] == .main)
    }

    @Test("named views follow the room where they say nothing else")
    func following() throws {
        let views = ["guests": view { ($0.layout, $0.framesPerSecond) = ("single", 15) }]
        var room = try room(["a", "b"], views)
        try room.show("guests", to: "a")
        try room.show("portrait", to: "b")
        try room.setLayout("speaker", pins: nil, by: "b")
        #expect(shown(room, "a") == ShownLayout(name: "single", view: "guests"))
        #expect(shown(room, "b") == ShownLayout(name: "speaker", view: "portrait"))
        #expect(room.settings.format(ofView: "guests") == ViewFormat(width: 1280, height: 720, framesPerSecond: 15))
        #expect(room.uses(["single"]) && room.uses(["speaker"]) && !room.uses(["grid"]))
        #expect(room.settings.viewNames == ["main", "guests", "portrait"])
        #expect(throws: ConferenceError.unknownView("hosts", known: room.settings.viewNames)) {
            try room.show("hosts", to: "a")
        }
        // Who was in a view that is removed gets the room's, and the view again when it comes back.
        var change = RoomSettingsChange()
        change.views = ["guests": ViewSettings?.none]
        try room.change(change)
        #expect(shown(room, "a") == ShownLayout(name: "speaker"))
        change.views = ["guests": ViewSettings()]
        try room.change(change)
        #expect(shown(room, "a")?.view == "guests")
    }

    @Test(
        "the upright view is 9:16, as wide as the room's picture is high",
        arguments: [
            (1280, 720, 720, 1280), (640, 480, 480, 854), (720, 1280, 720, 1280), (160, 90, 90, 160),
        ])
    func portrait(width: Int, height: Int, upright: Int, tall: Int) {
        var settings = RoomSettings()
        (settings.width, settings.height) = (width, height)
        let format = settings.format(ofView: ViewSettings.portrait)
        #expect((format.width, format.height) == (upright, tall))
        settings.views = ["portrait": view { $0.height = 1000 }]
        #expect(settings.format(ofView: "portrait").height == 1000)
    }

    @Test("a viewer who stands for a participant gets its view, or the one that it asks for")
    func standing() throws {
        var room = try room(["a"])
        try room.show("portrait", to: "a")
        try room.choose(room.choice("speaker", pins: [], by: "a"), by: "a")
        let request = AdmittedJoin(room: "r", name: "e", role: .viewer, kind: .viewer, asParticipant: "a")
        _ = try room.join(request, id: "e", secret: "s", at: now)
        #expect(room.views["e"] == room.views["a"])
        try room.show("main", to: "e")
        #expect(room.views["e"]?.name == "main")
    }

    @Test("a room shows no more views than its limit, without main and the recorded one")
    func limit() throws {
        var room = try room(["a", "b", "c", "d"], ["guests": ViewSettings(), "recording": ViewSettings()])
        try room.show("portrait", to: "a", limit: 2)
        try room.show("guests", to: "b", limit: 2)
        #expect { try room.choose(ViewChoice(layout: "single", pins: []), by: "c", limit: 2) } throws: {
            if case ConferenceError.atCapacity(let text, _) = $0 { text.contains("2 pictures") } else { false }
        }
        #expect(shown(room, "c") == ShownLayout(name: "grid"), "it keeps what it has")
        try room.show("recording", to: "c", limit: 2)
        try room.show("portrait", to: "d", limit: 2)
        try room.choose(ViewChoice(layout: "single", pins: []), by: "b", limit: 2)
        try room.show("main", to: "b", limit: 2)
    }

    @Test(
        "views are defined within their limits",
        arguments: [
            ("main", ViewSettings()), ("Guests", ViewSettings()), ("", ViewSettings()),
        ])
    func names(name: String, view: ViewSettings) throws {
        var settings = RoomSettings()
        var change = RoomSettingsChange()
        change.views = [name: view]
        #expect(throws: ConferenceError.self) { try settings.apply(change) }
    }

    @Test("values of views are checked, and a refused change changes nothing")
    func values() throws {
        var settings = RoomSettings()
        let wrong = [
            view { $0.width = 88 }, view { $0.height = 91 }, view { $0.width = 3842 }, view { $0.framesPerSecond = 0 },
            view { $0.renditions = [] },
        ]
        for view in wrong {
            var change = RoomSettingsChange()
            (change.views, change.layout) = (["guests": view], "speaker")
            #expect(throws: ConferenceError.self) { try settings.apply(change) }
        }
        #expect(settings == RoomSettings())
        var change = RoomSettingsChange()
        for index in 0..<ViewSettings.most { change.views["v\(index)"] = ViewSettings() }
        try settings.apply(change)
        change.views = ["one-more": ViewSettings()]
        #expect(throws: ConferenceError.self) { try settings.apply(change) }
        change.views = ["v0": ViewSettings?.none, "one-more": ViewSettings()]
        try settings.apply(change)
        #expect(settings.views.count == ViewSettings.most)
    }
}
