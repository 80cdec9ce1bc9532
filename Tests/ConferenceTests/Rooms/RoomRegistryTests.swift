import Basics
import Testing
import Threads

@testable import Conference

/// Each room has a lock of its own, so that no room waits for another, and the counts are right in the end.
@Suite("RoomRegistry")
struct RoomRegistryTests {
    private func join(_ conference: Conference, _ room: String) throws(ConferenceError) -> Participant {
        try conference.join(AdmittedJoin(room: room, name: "Ann")) { _ in }
    }

    @Test("while a room's lock is held, participants join, talk and leave in another room")
    func isolation() async throws {
        try await withConference { conference in
            let stuck = try join(conference, "stuck")
            let room = try #require(conference.registry["stuck"])
            let (isHeld, isFree) = (Condition(false), Condition(false))
            DedicatedThread.start("holds a room") {
                room.read { _ in
                    isHeld.withLock(waking: .all) { $0 = true }
                    _ = isFree.wait { $0 ? true : nil }
                }
            }
            _ = isHeld.wait { $0 ? true : nil }
            // Each of these calls would hang if it needed the lock of the other room.
            let ann = try join(conference, "free")
            let bob = try join(conference, "free")
            try ann.chat("hello")
            try ann.setState(hand: true)
            try bob.setLayout("speaker", scope: .room)
            #expect(conference.rooms.room("free")?.participants.map(\.hand) == [true, false])
            ann.leave()
            bob.withdraw()
            try conference.rooms.end("free")
            #expect(conference.rooms.room("free") == nil)
            isFree.withLock(waking: .all) { $0 = true }
            stuck.leave()
        }
    }

    @Test("concurrent joins, leaves and ends release every seat and room")
    func counting() async throws {
        try await withConference { conference in
            await withTaskGroup(of: Void.self) { group in
                for task in 0..<6 {
                    group.addTask {
                        for step in 0..<60 {
                            let name = "room-\((task + step) % 3)"
                            let participant = try? self.join(conference, name)
                            switch (task * 7 + step) % 5 {
                            case 0: try? conference.rooms.end(name)
                            case 1: participant?.withdraw()
                            case 2: _ = try? conference.rooms.update(name, RoomSettingsChange())
                            default: break
                            }
                            participant?.leave()
                        }
                    }
                }
            }
            for room in conference.rooms.list() { try conference.rooms.end(room.id) }
            #expect(conference.registry.rooms.isEmpty)
            for kind in ["rooms", "seats", "half_open"] {
                let samples = conference.metrics().filter {
                    $0.name == "tessera_limited_current" && $0.labels["name"] == kind
                }
                #expect(samples.map(\.value) == [0], "\(kind)")
            }
        }
    }

    @Test("a join that a room refuses leaves neither a room nor a count")
    func refusal() async throws {
        try await withConference { conference in
            var request = AdmittedJoin(room: "r", name: "Ann")
            request.asParticipant = "nobody"
            #expect(throws: ConferenceError.self) { try conference.join(request) { _ in } }
            #expect(conference.rooms.room("r") == nil && conference.registry.rooms.isEmpty)
            #expect(conference.metrics().filter { $0.name == "tessera_limited_current" }.allSatisfy { $0.value == 0 })
        }
    }
}
