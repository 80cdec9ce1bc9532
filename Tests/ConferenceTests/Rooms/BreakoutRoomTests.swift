import Basics
import Foundation
import Recording
import RoomMedia
import TestSupport
import Testing

@testable import Conference

/// Breakout groups in a whole conference without any peer: what participants are told, chat, moves of the room.
@Suite("Breakout groups of a room")
struct BreakoutRoomTests {
    private final class Told: Sendable {
        private let events = Guarded<[ParticipantEvent]>([])
        func take(_ event: SharedEvent) { events.withLock { $0.append(event.event) } }
        var all: [ParticipantEvent] { events.withLock { $0 } }
        var notices: [BreakoutNotice] {
            all.compactMap { if case .breakout(let notice) = $0 { notice } else { nil } }
        }
        var chat: [String] { all.compactMap { if case .chat(let message) = $0 { message.text } else { nil } } }
    }

    private func join(
        _ conference: Conference, _ name: String, _ told: Told = Told(), native: Bool = true
    ) throws -> Participant {
        var request = AdmittedJoin(room: "r", name: name)
        (request.roleIsProven, request.isNative) = (false, native)
        return try conference.join(request) { told.take($0) }
    }

    private func kinds(_ conference: Conference) -> [String] {
        conference.events.page(after: 0, limit: 1000).events.map(\.event.happening.kind.rawValue)
            .filter { $0.hasPrefix("breakout") }
    }

    private func ended(_ recording: String, in conference: Conference) -> RecordingInfo? {
        for event in conference.events.page(after: 0, limit: 1000).events {
            switch event.event.happening {
            case .recordingFinished(let info), .recordingFailed(let info): if info.id == recording { return info }
            default: break
            }
        }
        return nil
    }

    private func kind(_ body: () throws -> Void) -> String? {
        do {
            try body()
            return nil
        } catch {
            return (error as? ConferenceError)?.kind
        }
    }

    @Test("each one is told where it is, chat stays in the group, and programs follow by events")
    func told() async throws {
        try await withConference { conference in
            let (ofHost, ofAnn, ofBob) = (Told(), Told(), Told())
            let host = try join(conference, "Host", ofHost)
            let ann = try join(conference, "Ann", ofAnn)
            // A client of another family, which has no message for groups.
            let bob = try join(conference, "Bob", ofBob, native: false)
            try host.breakOut(.make(BreakoutPlan(names: ["Red", "Blue"])))
            try host.breakOut(.assign([ann.id: 1, bob.id: 2]))
            try host.breakOut(.open(endsIn: .seconds(600)))
            #expect(ann.info?.group == 1 && bob.info?.group == 2 && host.info?.group == 0)
            #expect(await eventually { ofAnn.notices.last?.info?.phase == .open })
            let notice = try #require(ofAnn.notices.last)
            #expect(notice.own == 1 && !notice.isHost && notice.info?.groups.map(\.name) == ["Red", "Blue"])
            #expect(ann.breakout?.own == 1 && ann.breakout?.info?.endsIn ?? .zero > .seconds(590))

            try ann.chat("red only")
            try bob.chat("blue only")
            try host.chat("room only")
            try host.chat("to all", all: true)
            #expect(kind { try ann.chat("to all", all: true) } == "forbidden")
            #expect(kind { try ann.chat("psst", to: bob.id) } == "conflict")
            try ann.chat("help", to: host.id)
            #expect(await eventually { ofAnn.chat == ["red only", "to all", "help"] })
            #expect(await eventually { ofBob.chat == ["blue only", "to all"] })
            #expect(await eventually { ofHost.chat == ["room only", "to all", "help"] })
            #expect(ann.chatHistory.map(\.text) == ["red only", "to all"])
            #expect(try join(conference, "Late").chatHistory.map(\.text) == ["room only", "to all"])

            try host.breakOut(.close)
            #expect(await eventually { ofAnn.notices.last?.info == nil })
            #expect(ann.breakout == nil && ann.info?.group == 0)
            #expect(
                ann.chatHistory.map(\.text) == ["room only", "to all"], "what was said in a group is not for the next")
            #expect(
                kinds(conference) == ["breakout.changed", "breakout.changed", "breakout.opened", "breakout.closed"])
        }
    }

    @Test("the control thread brings everybody back when it is time")
    func time() async throws {
        try await withConference { conference in
            let told = Told()
            let host = try join(conference, "Host", told)
            try conference.breakouts.perform(
                [.make(BreakoutPlan(names: ["Red"])), .assign([host.id: 1]), .open(endsIn: nil)], in: "r")
            #expect(host.info?.group == 1)
            try conference.breakouts.perform([.callBack(.milliseconds(100))], in: "r")
            #expect(try conference.breakouts.info(of: "r")?.phase == .ending)
            #expect(await eventually { host.info?.group == 0 && told.notices.last?.info == nil })
            #expect(try conference.breakouts.info(of: "r") == nil)
            #expect(kinds(conference).suffix(2) == ["breakout.ending", "breakout.closed"])
            // Several requests are done as a whole or not at all.
            #expect(
                kind {
                    try conference.breakouts.perform(
                        [.make(BreakoutPlan(names: ["Red"])), .assign(["nobody": 1])], in: "r")
                } == "participantNotFound")
            #expect(try conference.breakouts.info(of: "r") == nil)
            #expect(kind { try conference.breakouts.perform([.close], in: "other") } == "roomNotFound")
        }
    }

    @Test("a client that asks without end is slowed down")
    func rate() async throws {
        try await withConference { conference in
            let host = try join(conference, "Host")
            var kinds: Set<String> = []
            for number in 0..<40 {
                let names = (0...number).map { "G\($0)" }
                if let refused = kind({ try host.breakOut(.make(BreakoutPlan(names: names))) }) {
                    kinds.insert(refused)
                }
            }
            #expect(kinds == ["tooFast"])
        }
    }

    @Test("the groups, who is where and what the host hears go along with a room that moves; group chat does not")
    func moves() async throws {
        let secrets = TestSecrets()
        try await withConference({ $0.seatSecrets = secrets }) { a in
            try await withConference({ $0.seatSecrets = secrets }) { b in
                let host = try join(a, "Host")
                let ann = try join(a, "Ann")
                try host.breakOut(.make(BreakoutPlan(names: ["Red", "Blue"])))
                try host.breakOut(.assign([ann.id: 2]))
                try host.breakOut(.open(endsIn: .seconds(600)))
                try host.breakOut(.listen([1, 2], look: 2))
                try ann.chat("secret of Blue")
                try host.chat("for the room")
                let state = try #require(a.moves.state(of: "r", at: Date()))
                #expect(try b.moves.restore(RoomState(json: state.encoded())))
                let back = try b.resume(id: ann.id, secret: ann.resumeSecret) { _ in }
                let hostBack = try b.resume(id: host.id, secret: host.resumeSecret) { _ in }
                #expect(back.info?.group == 2 && back.breakout?.info?.groups.map(\.name) == ["Red", "Blue"])
                #expect(hostBack.breakout?.listensTo == [1, 2] && hostBack.breakout?.looksInto == 2)
                #expect(back.chatHistory.isEmpty && hostBack.chatHistory.map(\.text) == ["for the room"])
                #expect(back.breakout?.info?.endsIn ?? .zero > .seconds(580))
                try hostBack.breakOut(.close)
                #expect(back.info?.group == 0)
            }
        }
    }

    @Test("a recording of a group names it, is seen there alone, and ends with the groups")
    func recording() async throws {
        let scratch = ScratchDirectory()
        try await withConference(in: scratch) { conference in
            let told = Told()
            let host = try join(conference, "Host")
            let ann = try join(conference, "Ann", told)
            try host.breakOut(.make(BreakoutPlan(names: ["Red", "Blue"])))
            try host.breakOut(.assign([ann.id: 2]))
            await #expect(throws: ConferenceError.self) { try await host.record(.start, group: 2) }
            try host.breakOut(.open(endsIn: nil))
            await #expect(throws: ConferenceError.self) { try await host.record(.start, group: 3) }
            await #expect(throws: ConferenceError.self) { try await ann.record(.start, group: 1) }
            try await host.record(.start, group: 2)
            let running = try #require(ann.recording)
            #expect(running.group?.number == 2 && running.group?.name == "Blue" && running.file.contains("-r-Blue-"))
            #expect(host.recording == nil && host.breakout?.info?.groups[1].recording == running.id)
            #expect(
                await eventually {
                    told.all.contains { if case .recording(let info, _) = $0 { info?.id == running.id } else { false } }
                })
            // The room itself is recorded beside it.
            try await host.record(.start)
            #expect(host.recording != nil && host.recording?.id != running.id && ann.recording?.id == running.id)
            try host.breakOut(.close)
            // Nobody sent anything: its file is removed, and the event is what stays of it.
            #expect(await eventually { ended(running.id, in: conference) != nil })
            let over = try #require(ended(running.id, in: conference))
            #expect(over.endedBy == .room && over.group?.name == "Blue")
            #expect(ann.recording?.id == host.recording?.id && host.recording != nil)
            try await host.record(.stop)
        }
    }
}
