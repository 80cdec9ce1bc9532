import Basics
import Foundation
import Testing

@testable import Conference
@testable import RoomMedia

@Suite("Roles in a room")
struct RoleTests {
    private var room = Room(
        id: "r", settings: RoomSettings(), createdAt: Date(timeIntervalSince1970: 0), at: .zero)

    private func request(_ id: String, _ change: (inout AdmittedJoin) -> Void = { _ in }) -> AdmittedJoin {
        var request = AdmittedJoin(room: "r", name: id)
        (request.roleIsProven, request.isNative) = (false, true)
        change(&request)
        return request
    }

    private mutating func join(_ id: String, _ change: (inout AdmittedJoin) -> Void = { _ in }) throws(ConferenceError)
    {
        _ = try room.join(request(id, change), id: id, secret: "s", at: .zero)
    }

    private var roles: [String] { room.members.map { "\($0.id) \($0.role)" } }

    @Test("the first participant with native signalling moderates an open room, whatever roles are claimed")
    mutating func first() throws {
        try join("viewer") { $0.role = .viewer }
        try join("app") { $0.isNative = false }
        try join("claims") { $0.role = .presenter }
        try join("late") { $0.role = .moderator }
        #expect(roles == ["viewer viewer", "app participant", "claims moderator", "late participant"])
    }

    @Test("the native participant that is there longest inherits, before those whose signalling is lost")
    mutating func succession() throws {
        for id in ["a", "b", "c", "d"] { try join(id) { if id == "b" { $0.isNative = false } } }
        room.signallingLost("c", at: .zero)
        room.leave("a", at: .zero)
        #expect(roles == ["b participant", "c participant", "d moderator"])
        room.leave("d", at: .zero)
        #expect(roles == ["b participant", "c moderator"])
        room.leave("c", at: .zero)
        #expect(roles == ["b participant"])
        try join("e")
        #expect(roles == ["b participant", "e participant"], "the key of a is good yet (HostTests)")
    }

    @Test("with tokens nobody inherits, and the roles are those of the tokens")
    mutating func tokens() throws {
        for (id, role) in [("a", Role.moderator), ("b", .participant), ("c", .presenter)] {
            try join(id) { ($0.role, $0.roleIsProven) = (role, true) }
        }
        #expect(roles == ["a moderator", "b participant", "c presenter"])
        room.leave("a", at: .zero)
        #expect(roles == ["b participant", "c presenter"])
    }

    @Test("an open room keeps a moderator: the last one cannot step down, and the API's change appoints another")
    mutating func last() throws {
        for id in ["a", "b"] { try join(id) }
        #expect { try room.moderate(.changeRole("a", .participant), by: "a") } throws: {
            ($0 as? ConferenceError)?.kind == "conflict"
        }
        _ = try room.moderate(.changeRole("b", .moderator), by: "a")
        _ = try room.moderate(.changeRole("a", .viewer), by: "a")
        #expect(roles == ["a viewer", "b moderator"])
        _ = try room.moderate(.changeRole("a", .participant), by: "b")
        var change = ParticipantChange()
        change.role = .presenter
        try room.change("b", change)
        #expect(roles == ["a moderator", "b presenter"])
    }

    @Test("who cannot moderate is not made a moderator, and who only receives stays a viewer")
    mutating func limits() throws {
        try join("host")
        try join("app") { $0.isNative = false }
        try join("whep") { ($0.kind, $0.role) = (.viewer, .viewer) }
        for moderation in [Moderation.changeRole("app", .moderator), .stage("whep"), .changeRole("whep", .presenter)] {
            #expect { try room.moderate(moderation, by: "host") } throws: {
                ($0 as? ConferenceError)?.kind == "conflict"
            }
        }
    }

    @Test("a mute switches audio off, and only the participant switches it on again; another family's client cannot")
    mutating func mute() throws {
        for id in ["host", "b", "app"] { try join(id) { $0.isNative = id != "app" } }
        #expect(try room.moderate(.mute("b"), by: "host").map(\.event) == [.muted(by: "host")])
        #expect(try room.moderate(.mute("b"), by: "host").isEmpty, "it is muted already")
        #expect(room.member("b")?.sendsAudio == false)
        #expect(try room.moderate(.askToUnmute("b"), by: "host").map(\.event) == [.asked(.unmute, by: "host")])
        #expect(room.member("b")?.sendsAudio == false)
        try room.setState("b", audio: true, video: nil, hand: nil)
        #expect(room.member("b")?.sendsAudio == true)
        #expect(try room.moderate(.muteAll, by: "host").map(\.id) == ["b", "app"])
        #expect(room.member("host")?.sendsAudio == true)
        #expect(try room.moderate(.askToUnmute("app"), by: "host").isEmpty)
        #expect(room.member("app")?.sendsAudio == true)
        var change = ParticipantChange()
        change.audioMuted = true
        try room.change("app", change)
        _ = try room.moderate(.askToUnmute("app"), by: "host")
        #expect(room.member("app")?.sendsAudio == false, "the API's mute lasts")
    }

    @Test("moderation of screens, hands and volumes")
    mutating func effects() throws {
        for id in ["host", "b", "c"] { try join(id) }
        try room.present("b", true)
        #expect(try room.moderate(.stopScreen("b"), by: "host").map(\.event) == [.asked(.stopScreen, by: "host")])
        #expect(room.member("b")?.isPresenting == false)
        #expect(room.member("b")?.sendsVideo == false, "whatever the client still sends in the camera's place")
        room.negotiated("c", hasScreenSection: true)
        try room.present("c", true)
        _ = try room.moderate(.stopScreen("c"), by: "host")
        #expect(room.member("c")?.sendsVideo == true && room.member("c")?.sendsScreenBeside == false)
        #expect(try room.moderate(.stopScreen("c"), by: "host").isEmpty)
        for id in ["b", "c", "host"] { try room.setState(id, audio: nil, video: nil, hand: true) }
        _ = try room.moderate(.lowerHand("b"), by: "host")
        #expect(room.infos.map(\.hand) == [true, false, true])
        _ = try room.moderate(.lowerHands, by: "host")
        #expect(room.infos.map(\.hand) == [false, false, false])
        _ = try room.moderate(.setVolume("b", 0.5), by: "host")
        #expect(room.member("b")?.volume == 0.5)
        #expect(throws: ConferenceError.self) { try room.moderate(.setVolume("b", .nan), by: "host") }
        #expect(throws: ConferenceError.participantNotFound("x")) { try room.moderate(.mute("x"), by: "host") }
    }

    @Test("a viewer comes on stage and goes back; each side has its own limit")
    mutating func stage() throws {
        room.settings.maxParticipants = 2
        room.settings.maxViewers = 1
        try join("host")
        try join("v") { $0.role = .viewer }
        #expect(throws: ConferenceError.roomFull("r")) { try join("w") { $0.role = .viewer } }
        try room.setState("v", audio: nil, video: nil, hand: true)
        _ = try room.moderate(.stage("v"), by: "host")
        let staged = try #require(room.member("v"))
        #expect(staged.isShown && staged.sendsAudio && staged.maySendMessages && !staged.hand)
        #expect(throws: ConferenceError.roomFull("r")) { try join("x") }
        try join("w") { $0.role = .viewer }
        #expect(throws: ConferenceError.roomFull("r")) { try room.moderate(.stage("w"), by: "host") }
        #expect(throws: ConferenceError.roomFull("r")) { try room.moderate(.audience("v"), by: "host") }
        room.leave("w", at: .zero)
        try room.present("v", true)
        _ = try room.moderate(.audience("v"), by: "host")
        let back = try #require(room.member("v"))
        #expect(!back.isShown && !back.sendsAudio && !back.sendsVideo && !back.isPresenting)
    }

    @Test("hundreds of viewers have no place in the picture")
    mutating func audience() throws {
        try join("host")
        for number in 0..<400 { try join("v\(number)") { $0.role = .viewer } }
        let scene = RoomRecord.scene(of: room) { _ in nil }
        #expect(scene.people.count { $0.isShown || $0.sendsAudio || $0.sendsVideo } == 1)
        #expect(Roster(room.infos).viewers == 400)
    }

    @Test("while the layout is locked only moderators change it; a join with a layout is let in without")
    mutating func layoutLock() throws {
        room.settings.layoutLocked = true
        for id in ["host", "b"] { try join(id) }
        #expect(throws: ConferenceError.self) { try room.setLayout("speaker", pins: nil, by: "b") }
        try room.choose(room.choice("speaker", pins: nil, by: "b"), by: "b")
        try room.setLayout("single", pins: ["b"], by: "host")
        #expect(room.settings.layout == "single" && room.member("b")?.isPinned == true)
    }
}
