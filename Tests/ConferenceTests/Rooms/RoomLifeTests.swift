import Testing

@testable import Conference

/// The beginning and end of rooms, in a whole conference without any peer.
@Suite("The life of rooms")
struct RoomLifeTests {
    private func join(_ conference: Conference, _ room: String) throws -> Participant {
        try conference.join(AdmittedJoin(room: room, name: "Ann")) { _ in }
    }

    @Test("a room that was created for a join ends when the join is withdrawn, others stay as they were")
    func withdrawing() async throws {
        try await withConference { conference in
            try join(conference, "new").withdraw()
            #expect(conference.rooms.room("new") == nil)

            try conference.rooms.create("reserved", RoomSettingsChange())
            try join(conference, "reserved").withdraw()
            #expect(conference.registry["reserved"]?.read(\.isReserved) == true)

            let first = try join(conference, "shared")
            let second = try join(conference, "shared")
            first.withdraw()
            #expect(conference.rooms.room("shared")?.participants.map(\.id) == [second.id])
            second.withdraw()
            #expect(conference.rooms.room("shared") != nil, "who was not the first has made no room")

            let left = try join(conference, "left")
            left.leave()
            #expect(conference.rooms.room("left") != nil, "who was there and left may come back")
        }
    }
}
