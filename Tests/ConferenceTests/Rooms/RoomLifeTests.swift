import Basics
import Foundation
import Logging
import Testing

@testable import Conference

/// When rooms come and go, and what can be done with a recording when: a whole conference without any peer.
@Suite("The life of rooms")
struct RoomLifeTests {
    private func withConference(_ body: (Conference) async throws -> Void) async throws {
        let directory = NSTemporaryDirectory() + "tessera-" + Conference.token(8)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        var settings = ConferenceConfiguration()
        settings.media.udp = [SocketAddress(.v4(0x7F00_0001), port: 0)]
        settings.media.tcp = []
        settings.recording.directory = directory
        settings.layoutsDirectory = directory + "/layouts"
        let conference = try Conference(settings, logger: Logger(label: "test"))
        try conference.start()
        do { try await body(conference) } catch {
            await conference.drain(within: .seconds(2))
            throw error
        }
        await conference.drain(within: .seconds(2))
    }

    private func join(_ conference: Conference, _ room: String) throws -> Participant {
        try conference.join(JoinRequest(room: room, name: "Ann")) { _ in }
    }

    @Test("a room that was made for a join is gone when the join is withdrawn, others stay as they were")
    func withdrawing() async throws {
        try await withConference { conference in
            try join(conference, "new").withdraw()
            #expect(conference.room("new") == nil)

            try conference.createRoom("reserved", RoomSettingsChange())
            try join(conference, "reserved").withdraw()
            #expect(conference.state.locked { $0.rooms["reserved"]?.isReserved } == true)

            let first = try join(conference, "shared")
            let second = try join(conference, "shared")
            first.withdraw()
            #expect(conference.room("shared")?.participants.map(\.id) == [second.id])
            second.withdraw()
            #expect(conference.room("shared") != nil, "who was not the first has made no room")

            let left = try join(conference, "left")
            left.leave()
            #expect(conference.room("left") != nil, "who was there and left may come back")
        }
    }
}
