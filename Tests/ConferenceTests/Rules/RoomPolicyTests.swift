import Basics
import Foundation
import Testing

@testable import Conference

/// What hosts let participants do.
@Suite("The policy of a room")
struct RoomPolicyTests {
    private var room = Room(id: "r", settings: RoomSettings(), createdAt: Date(timeIntervalSince1970: 0), at: .zero)

    @discardableResult
    private mutating func join(_ id: String, _ change: (inout AdmittedJoin) -> Void = { _ in }) throws(ConferenceError)
        -> Member
    {
        var request = AdmittedJoin(room: "r", name: id)
        (request.roleIsProven, request.isNative) = (false, true)
        change(&request)
        return try room.join(request, id: id, secret: "s", at: .zero)
    }

    private mutating func set(_ body: (inout RoomSettingsChange) -> Void) throws {
        var change = RoomSettingsChange()
        body(&change)
        try room.change(change)
    }

    private func may(_ action: RoomAction, _ id: String) -> Bool {
        let isAllowed = (try? room.require(action, id)) != nil
        #expect(isAllowed == (room.member(id)?.permits(action) ?? false), "\(action), \(id)")
        return isAllowed
    }

    @Test("sharing, chat and unmuting are for everybody, or for presenters and moderators")
    mutating func permissions() throws {
        for id in ["host", "presenter", "ann"] { try join(id) }
        _ = try room.moderate(.changeRole("presenter", .presenter), by: "host")
        for action in [RoomAction.present, .chat, .unmute] {
            #expect(may(action, "ann") && may(action, "presenter") && may(action, "host"))
        }
        try set { ($0.share, $0.chat, $0.unmute) = (.presenters, .presenters, .presenters) }
        try join("late")
        for action in [RoomAction.present, .chat, .unmute] {
            #expect(!may(action, "ann") && !may(action, "late") && may(action, "presenter") && may(action, "host"))
        }
        _ = try room.moderate(.changeRole("ann", .presenter), by: "host")
        #expect(may(.chat, "ann") && room.member("ann")?.maySendMessages == true)
        #expect(room.settings.access.policy.chat == .presenters, "everybody is told")
    }

    @Test("who may not unmute stays muted, whatever its client says, until a host asks")
    mutating func unmute() throws {
        for id in ["host", "ann"] { try join(id) }
        try set { $0.unmute = .presenters }
        #expect(room.member("ann")?.sendsAudio == true, "who speaks is not cut off")
        _ = try room.moderate(.mute("ann"), by: "host")
        #expect(try room.setState("ann", audio: true, video: false, hand: nil) == .policy)
        #expect(room.member("ann")?.sendsAudio == false && room.member("ann")?.videoOn == false)
        _ = try room.moderate(.askToUnmute("ann"), by: "host")
        for isOn in [true, false, true] { #expect(try room.setState("ann", audio: isOn, video: nil, hand: nil) == nil) }
        #expect(room.member("ann")?.sendsAudio == true)
        _ = try room.moderate(.muteAll, by: "host")
        #expect(try room.setState("ann", audio: true, video: nil, hand: nil) == .policy)
        #expect(try join("app") { $0.isNative = false }.sendsAudio == false, "apps of other families too")
        _ = try room.moderate(.askToUnmute("app"), by: "host")
        #expect(room.member("app")?.sendsAudio == true)
        try join("viewer") { $0.role = .viewer }
        _ = try room.moderate(.stage("viewer"), by: "host")
        #expect(room.member("viewer")?.sendsAudio == true)
        #expect(
            try room.setState("viewer", audio: true, video: nil, hand: nil) == nil, "who is brought on stage may speak")
    }

    @Test("people come in muted, and switch it on themselves once their clients show it as off")
    mutating func entry() throws {
        try set { $0.muteOnEntry = true }
        #expect(try join("host").sendsAudio == true, "not the host")
        #expect(try join("ann").sendsAudio == false && join("app") { $0.isNative = false }.sendsAudio == false)
        #expect(try room.setState("ann", audio: true, video: nil, hand: nil) == .entry, "an older client does not know")
        #expect(room.member("ann")?.sendsAudio == false)
        #expect(try room.setState("ann", audio: false, video: nil, hand: nil) == nil)
        #expect(try room.setState("ann", audio: true, video: nil, hand: nil) == nil)
        #expect(room.member("ann")?.sendsAudio == true)
    }

    @Test("a host stops a camera, whose owner may switch it on again, and asks for it")
    mutating func camera() throws {
        for id in ["host", "ann", "app"] { try join(id) { $0.isNative = id != "app" } }
        #expect(try room.moderate(.stopVideo("ann"), by: "host").map(\.event) == [.asked(.stopVideo, by: "host")])
        #expect(try room.moderate(.stopVideo("ann"), by: "host").isEmpty && room.member("ann")?.sendsVideo == false)
        #expect(try room.moderate(.askForVideo("ann"), by: "host").map(\.event) == [.asked(.video, by: "host")])
        #expect(room.member("ann")?.sendsVideo == false)
        try room.setState("ann", audio: nil, video: true, hand: nil)
        #expect(room.member("ann")?.sendsVideo == true)
        _ = try room.moderate(.stopVideo("app"), by: "host")
        #expect(try room.moderate(.askForVideo("app"), by: "host").isEmpty && room.member("app")?.sendsVideo == true)
        #expect(throws: ConferenceError.self) { try room.moderate(.stopVideo("host"), by: "ann") }
    }

    @Test("hands are in the order in which they were raised, also at the next server")
    mutating func hands() throws {
        for id in ["host", "a", "b", "c"] { try join(id) }
        for id in ["c", "a", "b"] { try room.setState(id, audio: nil, video: nil, hand: true) }
        func order() -> [String] {
            room.infos.filter(\.hand).sorted { ($0.handOrder ?? 0) < ($1.handOrder ?? 0) }.map(\.id)
        }
        #expect(order() == ["c", "a", "b"])
        try room.setState("c", audio: nil, video: nil, hand: true)
        #expect(order() == ["c", "a", "b"], "a hand that is up already keeps its place")
        _ = try room.moderate(.lowerHand("c"), by: "host")
        try room.setState("c", audio: nil, video: nil, hand: true)
        #expect(order() == ["a", "b", "c"] && room.infos[0].handOrder == nil)
        let seats = try JSONDecoder().decode(
            [RoomState.Seat].self, from: JSONEncoder().encode(room.members.map { RoomState.Seat($0) }))
        #expect(seats.map(\.handOrder) == room.infos.map(\.handOrder))
    }
}
