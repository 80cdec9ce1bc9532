import Basics
import TestSupport
import Testing

@testable import Conference

/// The events of whole rooms, without any peer.
@Suite struct ServerEventTests {
    private func events(_ conference: Conference, after: Int = 0) -> [ServerEvent] {
        conference.events.page(after: after, limit: 1000).events.map(\.event)
    }

    private func kinds(_ conference: Conference, after: Int = 0) -> [String] {
        events(conference, after: after).map(\.happening.kind.rawValue)
    }

    private func join(_ conference: Conference, _ name: String) throws -> Participant {
        try conference.join(AdmittedJoin(room: "r", name: name)) { _ in }
    }

    @Test func `a call is told from its beginning to its end`() async throws {
        try await withConference { conference in
            let ann = try join(conference, "Ann")
            let bob = try join(conference, "Bob")
            bob.leave()
            try conference.rooms.end("r")
            let told = events(conference)
            #expect(
                kinds(conference) == [
                    "room.started", "participant.joined", "participant.joined", "participant.left",
                    "participant.left", "room.ended",
                ])
            #expect(told.allSatisfy { $0.room == "r" && !$0.isPrivate })
            guard case .participantLeft(let first, .left) = told[3].happening,
                case .participantLeft(let second, .roomEnded) = told[4].happening,
                case .roomEnded(let meeting, .roomEnded) = told[5].happening
            else { Issue.record("\(told.suffix(3))"); return }
            #expect(first.id == bob.id && second.id == ann.id && meeting.participants == 1)
        }
    }

    @Test func `each of two hundred who come and go at once is told`() async throws {
        try await withConference {
            $0.limits.seatsPerAddress = 1000
            $0.rooms.settings.maxParticipants = 500
        } _: { conference in
            let keeper = try join(conference, "Keeper")
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<200 {
                    group.addTask { try join(conference, "Guest \(number)").leave() }
                }
                try await group.waitForAll()
            }
            var inside: Set<String> = []
            for event in events(conference) {
                switch event.happening {
                case .participantJoined(let info): #expect(inside.insert(info.id).inserted)
                case .participantLeft(let info, _): #expect(inside.remove(info.id) != nil)
                default: break
                }
            }
            #expect(inside == [keeper.id] && kinds(conference).count { $0 == "participant.joined" } == 201)
        }
    }

    @Test func `changes are told with the announcements, and not twice`() async throws {
        try await withConference { conference in
            let ann = try join(conference, "Ann")
            // The join is announced at once, changes of the next quarter of a second together.
            for hand in [true, false, true] { try ann.setState(audio: nil, video: nil, hand: hand) }
            try ann.setState(audio: nil, video: false, hand: nil)
            #expect(await eventually { kinds(conference).contains("participant.updated") })
            guard case .participantUpdated(let info)? = events(conference).last?.happening else {
                Issue.record("\(kinds(conference))")
                return
            }
            #expect(info.hand && !info.video)
            #expect(kinds(conference) == ["room.started", "participant.joined", "participant.updated"])
        }
    }

    @Test func `of a private room the people are told to insiders only`() async throws {
        try await withConference { conference in
            var change = RoomSettingsChange()
            change.pin = "1234"
            try conference.rooms.create("r", change)
            var request = AdmittedJoin(room: "r", name: "Ann")
            request.pin = "1234"
            let ann = try conference.join(request) { _ in }
            // What happens in the step that opens the room is private still.
            change.pin = ""
            try conference.rooms.update("r", change)
            ann.leave()
            #expect(events(conference).map(\.isPrivate) == [false, true, false])
        }
    }

    @Test func `messages, layouts and speakers are told while somebody asks for them`() async throws {
        try await withConference { conference in
            let ann = try join(conference, "Ann")
            try ann.chat("unheard", to: nil)
            let subscription = conference.events.subscribe(to: [.chat, .layoutChanged]) {}
            let before = conference.events.last
            try ann.chat("heard", to: nil)
            try ann.chat("whispered", to: ann.id)
            try ann.setLayout("presentation", scope: .room, pins: nil)
            let told = events(conference, after: before).filter { $0.happening.kind != .participantUpdated }
            // The view for upright phones has the same layout.
            guard told.count == 3, case .chat(let message) = told[0].happening,
                case .layoutChanged(let shown) = told[1].happening
            else { Issue.record("\(told)"); return }
            #expect(
                message.text == "heard" && told[0].isPrivate && shown.name == "presentation" && shown.view == "main")
            withExtendedLifetime(subscription) {}
        }
    }

    @Test func `a recording is told from its start to its complete file`() async throws {
        try await withConference(in: ScratchDirectory()) { conference in
            _ = try join(conference, "Ann")
            let before = conference.events.last
            let id = try await conference.recordings.start("r").id
            try conference.recordings.pause(id)
            try conference.recordings.pause(id)
            try conference.recordings.resume(id)
            try await conference.recordings.stop(id)
            let told = kinds(conference, after: before).filter { $0 != "participant.updated" }
            #expect(told.dropLast() == ["recording.started", "recording.paused", "recording.resumed"])
            // It fails where no picture came in the moment between.
            #expect(told.last == "recording.finished" || told.last == "recording.failed")
        }
    }
}
