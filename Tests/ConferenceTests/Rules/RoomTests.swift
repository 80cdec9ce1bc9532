import Basics
import Foundation
import Testing

@testable import Conference
@testable import RoomMedia

@Suite("Room")
struct RoomTests {
    private func at(_ seconds: Int64) -> Instant { Instant(nanoseconds: seconds * 1_000_000_000) }
    private func room(_ change: (inout RoomSettings) -> Void = { _ in }) -> Room {
        var settings = RoomSettings()
        change(&settings)
        return Room(id: "r", settings: settings, createdAt: Date(timeIntervalSince1970: 0), at: at(0))
    }

    private func join(
        _ room: inout Room, _ id: String, role: Role = .participant, kind: JoinRequest.Kind = .participant
    ) throws(ConferenceError) {
        _ = try room.join(
            AdmittedJoin(room: "r", name: id, role: role, kind: kind), id: id, secret: "s-\(id)", at: at(1))
    }

    @Test("a full room refuses the next participant, a locked one all except proven moderators")
    func limits() throws {
        var full = room { $0.maxParticipants = 1 }
        try join(&full, "a")
        #expect(throws: ConferenceError.roomFull("r")) { try join(&full, "b") }
        var locked = room { $0.locked = true }
        #expect(throws: ConferenceError.roomLocked("r")) { try join(&locked, "a") }
        var claimed = AdmittedJoin(room: "r", name: "c", role: .moderator)
        claimed.roleIsProven = false
        #expect(throws: ConferenceError.roomLocked("r")) { try locked.join(claimed, id: "c", secret: "", at: at(1)) }
        try join(&locked, "m", role: .moderator)
        #expect(locked.members.map(\.id) == ["m"])
    }

    @Test("what a member says to send and the server does not get is not shown as if it came")
    func missing() throws {
        var room = room()
        try join(&room, "a")
        try join(&room, "b")
        func isMuted(_ id: String) -> Bool? {
            RoomRecord.scene(of: room) { _ in nil }.people.first { $0.id == id }?.isMuted
        }
        #expect(room.member("a")?.claims == [.audio, .video] && room.infos[0].missing.isEmpty)
        room.setMissing([.audio, .video], of: "a")
        #expect(room.infos.map(\.missing) == [[.audio, .video], []])
        // It is on all the same: the participant's own switch is not the server's.
        #expect(room.infos[0].audio && room.infos[0].video)
        #expect(isMuted("a") == true && isMuted("b") == false)
        // What is off is not missing.
        try room.setState("a", audio: false, video: nil, hand: nil)
        #expect(room.infos[0].missing == .video && room.member("a")?.claims == .video)
        var change = ParticipantChange()
        change.videoMuted = true
        _ = try room.change("a", change)
        #expect(room.infos[0].missing.isEmpty)
        room.setMissing([], of: "a")
        try room.setState("a", audio: true, video: nil, hand: nil)
        #expect(room.infos[0].missing.isEmpty && isMuted("a") == false)
        room.setMissing(.audio, of: "gone")
        // The screen in place of the camera may stand still.
        try room.present("a", true)
        #expect(room.member("a")?.claims == .audio)
        try room.present("a", false)
        try join(&room, "v", role: .viewer)
        #expect(room.member("v")?.claims == [])
    }

    @Test("a viewer is not shown, cannot present, record or change everyone's layout")
    func viewers() throws {
        var room = room()
        try join(&room, "v", role: .viewer)
        try join(&room, "w", kind: .viewer)
        for id in ["v", "w"] {
            #expect(room.member(id)?.isShown == false)
            #expect(throws: ConferenceError.self) { try room.present(id, true) }
            #expect(throws: ConferenceError.self) { try room.require(.record, id, isOwn: true) }
            #expect(throws: ConferenceError.self) { try room.setLayout("speaker", pins: nil, by: id) }
            try room.choose(room.choice("speaker", pins: nil, by: id), by: id)
        }
        #expect(room.settings.layout == "grid")
    }

    @Test(
        "with proven roles moderators, presenters and the starter control a recording; otherwise everyone does"
    )
    func recorders() throws {
        var room = room()
        for (id, role) in [("p", Role.participant), ("s", .presenter), ("m", .moderator)] {
            try join(&room, id, role: role)
        }
        for id in ["s", "m"] { #expect(throws: Never.self) { try room.require(.record, id) } }
        #expect(throws: ConferenceError.self) { try room.require(.record, "p") }
        #expect(throws: Never.self) { try room.require(.record, "p", isOwn: true) }

        var open = self.room()
        for id in ["a", "b"] {
            var request = AdmittedJoin(room: "r", name: id)
            request.roleIsProven = false
            _ = try open.join(request, id: id, secret: "", at: at(1))
        }
        #expect(throws: Never.self) { try open.require(.record, "b") }
    }

    @Test("a seat is kept for 15 s after its signalling was lost, and taken back only with its secret")
    func seats() throws {
        var room = room()
        try join(&room, "a")
        #expect(room.member("a")?.wasConnected == false)
        room.media("a", isConnected: true, at: at(2))
        #expect(room.member("a")?.wasConnected == true)
        room.signallingLost("a", at: at(10))
        #expect(room.expired(at: at(24)).isEmpty)
        #expect(room.expired(at: at(25)) == ["a"])
        #expect(throws: ConferenceError.self) { try room.requireSecret("wrong", of: "a") }
        try room.requireSecret("s-a", of: "a")
        try room.takeBack("a")
        #expect(room.expired(at: at(100)).isEmpty)
    }

    @Test("a participant without signalling leaves 30 s after its media")
    func silence() throws {
        var room = room()
        var request = AdmittedJoin(room: "r", name: "whip")
        request.hasSignalling = false
        _ = try room.join(request, id: "w", secret: "", at: at(0))
        room.media("w", isConnected: true, at: at(5))
        #expect(room.expired(at: at(1000)).isEmpty)
        room.media("w", isConnected: false, at: at(1000))
        #expect(room.expired(at: at(1029)).isEmpty)
        #expect(room.expired(at: at(1030)) == ["w"])
    }

    @Test("an empty room is abandoned after the timeout, one with members never")
    func abandoned() throws {
        var room = room()
        #expect(room.isAbandoned(after: .seconds(30), at: at(30)))
        try join(&room, "a")
        #expect(!room.isAbandoned(after: .seconds(30), at: at(9999)))
        room.leave("a", at: at(10_000))
        #expect(!room.isAbandoned(after: .seconds(30), at: at(10_029)))
        #expect(room.isAbandoned(after: .seconds(30), at: at(10_030)))
    }

    @Test("others see the effects of moderation")
    func moderation() throws {
        var room = room()
        try join(&room, "a")
        var change = ParticipantChange()
        change.audioMuted = true
        change.name = "Åsa"
        change.volume = 0.5
        let info = try room.change("a", change)
        #expect(info.audio == false && info.audioMuted && info.name == "Åsa" && info.volume == 0.5)
        change.name = String(repeating: "å", count: 65)
        #expect(throws: ConferenceError.self) { try room.change("a", change) }
        change.name = nil
        change.volume = 5
        #expect(throws: ConferenceError.self) { try room.change("a", change) }
        #expect(throws: ConferenceError.participantNotFound("x")) { try room.change("x", change) }
    }

    @Test("each change gives its event once")
    func events() throws {
        var room = room()
        try join(&room, "a")
        let before = room
        #expect(room.events(since: before).isEmpty)
        room.speakers(Speakers(active: "a", ranks: ["a"], speaking: ["a"]))
        #expect(room.events(since: before).isEmpty, "`RoomService` tells the members of each group")
        room.isSentOn = true
        #expect(room.events(since: before) == [.streaming(true)])
        #expect(room.infos.map(\.speaking) == [true])
    }

    @Test(
        "settings out of bounds are refused as a whole",
        arguments: [\RoomSettingsChange.width, \.height, \.framesPerSecond, \.maxParticipants, \.maxViewers])
    func settings(key: any WritableKeyPath<RoomSettingsChange, Int?> & Sendable) {
        var change = RoomSettingsChange()
        change.layout = "speaker"
        for value in [-1, key == \.maxViewers ? -2 : 0, 1_000_001, Int.max, Int.min] {
            change[keyPath: key] = value
            var settings = RoomSettings()
            #expect(throws: ConferenceError.self) { try settings.apply(change) }
            #expect(settings == RoomSettings())
        }
    }
}
