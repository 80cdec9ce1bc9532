import Basics
import Foundation
import Testing

@testable import Conference
@testable import RoomMedia

@Suite("A call of two")
struct CallOfTwoTests {
    private func room(_ people: [String] = ["a", "b"], _ change: (inout RoomSettings) -> Void = { _ in }) throws -> Room
    {
        var settings = RoomSettings()
        change(&settings)
        var room = Room(id: "r", settings: settings, createdAt: Date(timeIntervalSince1970: 0), at: .zero)
        for id in people { try join(id, &room) }
        return room
    }

    private func join(
        _ id: String, _ room: inout Room, as role: Role = .participant, _ kind: JoinRequest.Kind = .participant,
        for other: String? = nil, draws: Bool = false
    ) throws {
        var request = AdmittedJoin(room: "r", name: id, role: role, kind: kind, asParticipant: other)
        request.drawsSigns = draws
        _ = try room.join(request, id: id, secret: "s", at: .zero)
    }

    private let own = ["a": ViewID.main.without("a"), "b": ViewID.main.without("b")]
    private let common = ["a": ViewID.main, "b": .main]

    @Test("each of two gets a picture without itself, until a third one comes")
    func third() throws {
        var room = try room(["a"])
        #expect(room.views == ["a": .main], "who is alone sees itself")
        try join("b", &room)
        #expect(room.views == own)
        let before = room
        try join("c", &room)
        #expect(Set(room.views.values) == [.main] && !room.hasSamePictures(as: before))
        room.leave("a", at: .zero)
        #expect(room.views == ["b": .main.without("b"), "c": .main.without("c")])
    }

    @Test("viewers get the common picture, and who stands for one of the two gets that one's")
    func viewers() throws {
        var room = try room()
        try join("v", &room, as: .viewer, .viewer)
        try join("w", &room, as: .viewer)
        try join("x", &room, as: .viewer, .viewer, for: "a")
        #expect(room.views == own.merging(["v": .main, "w": .main, "x": .main.without("a")]) { $1 })
        #expect(room.settings.recordedView == .main && room.settings.streamedView == .main)
    }

    @Test("a shared screen, a source that the server pulls, and two dark cameras have the common picture")
    func others() throws {
        var presented = try room()
        try presented.present("a", true)
        #expect(presented.views == common)
        try presented.present("a", false)
        #expect(presented.views == own)
        var pulled = try room(["a"])
        try join("i", &pulled, as: .participant, .input)
        #expect(pulled.views == ["a": .main])
        var dark = try room()
        try dark.setState("a", audio: nil, video: false, hand: nil)
        #expect(dark.views == own, "the other is large also where it has an avatar")
        try dark.setState("b", audio: nil, video: false, hand: nil)
        #expect(dark.views == common)
    }

    @Test("a choice of the room or of one's own, the setting and a busy server keep the common picture")
    func kept() throws {
        var chosen = try room()
        try chosen.choose(chosen.choice("speaker", pins: nil, by: "b"), by: "b")
        #expect(chosen.views["a"] == own["a"] && chosen.views["b"]?.choice?.layout == "speaker")
        try chosen.setLayout("side-by-side", pins: nil, by: "a")
        #expect(chosen.views["a"] == .main)
        #expect(try room(["a", "b"]) { $0.withoutSelf = false }.views == common)
        var busy = try room()
        let before = busy
        busy.isSparing = true
        #expect(busy.views == common && !busy.hasSamePictures(as: before))
    }

    private func scene(_ room: Room) -> Scene {
        RoomRecord.scene(of: room, using: Set(room.views.values)) { _ in nil }
    }

    /// The views whose names and signs are left to the clients where one tile fills the picture.
    private func bare(_ room: Room) -> Set<ViewID> {
        Set(scene(room).views.filter(\.value.takersDrawSigns).keys)
    }

    @Test("names and signs are left to a client that draws them, in its own picture alone")
    func signs() throws {
        var room = try room([])
        try join("a", &room, draws: true)
        #expect(bare(room).isEmpty, "who is alone has the common picture")
        try join("b", &room)
        #expect(bare(room) == [.main.without("a")])
        #expect(Set(scene(room).views.keys) == [.main, .main.without("a"), .main.without("b")])
        // Who stands for one of the two gets the same picture.
        try join("x", &room, as: .viewer, .viewer, for: "a", draws: true)
        #expect(bare(room) == [.main.without("a")])
        try join("y", &room, as: .viewer, .viewer, for: "a")
        #expect(bare(room).isEmpty)
    }

    @Test("in a picture that several have chosen all of them have to draw names and signs")
    func signsOfChoices() throws {
        var room = try room([])
        for id in ["a", "b", "c"] { try join(id, &room, draws: id != "c") }
        #expect(bare(room).isEmpty, "the common picture, whoever takes it")
        for id in ["a", "b"] { try room.choose(room.choice("speaker", pins: nil, by: id), by: id) }
        let chosen = try #require(room.views["a"])
        #expect(chosen.choice?.layout == "speaker" && room.views["b"] == chosen && bare(room) == [chosen])
        try room.choose(room.choice("speaker", pins: nil, by: "c"), by: "c")
        #expect(room.views["c"] == chosen && bare(room).isEmpty)
    }

    @Test("a client that draws names and signs does so too when it is back with its ticket")
    func signsAfterReturn() throws {
        var room = try room([])
        room.keepsSeats = true
        for id in ["a", "b"] {
            var request = AdmittedJoin(room: "r", name: id)
            (request.isNative, request.drawsSigns) = (true, id == "a")
            _ = try room.join(request, id: id, secret: "s", at: .zero)
        }
        room.noteAbsence(of: "a", .timeout)
        room.leave("a", .timeout, at: .zero)
        var back = AdmittedJoin(room: "r", name: "a")
        back.ticket = SeatTicket(
            room: "r", meeting: room.meetingID, id: "a", name: "a", role: .participant, issuedAt: Date())
        _ = try room.join(back, id: "a", secret: "s", at: .zero)
        #expect(bare(room) == [.main.without("a")])
    }

    @Test(
        "pictures may be sent as they came unless the setting forbids it", arguments: RoomSettings.Passthrough.allCases)
    func passthrough(setting: RoomSettings.Passthrough) throws {
        var room = try self.room(["a", "b"]) { $0.passthrough = setting }
        #expect(scene(room).passthrough == (setting == .auto))
        room.isSparing = true
        #expect(scene(room).passthrough == (setting == .auto), "it saves work")
    }

    @Test("a phone held upright has the other in the upright picture, within the limit of views")
    func upright() throws {
        var room = try room()
        #expect(throws: ConferenceError.self) { try room.show("portrait", to: "a", limit: 0) }
        try room.show("portrait", to: "a", limit: 1)
        #expect(room.views == ["a": ViewID("portrait").without("a"), "b": .main.without("b")])
        try room.show("portrait", to: "b", limit: 1)
        #expect(Set(room.views.values.map(\.withEveryone)) == [ViewID("portrait")], "counts as one")
        try room.show("main", to: "b", limit: 0)
    }
}
