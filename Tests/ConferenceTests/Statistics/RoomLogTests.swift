import Basics
import Logging
import TestSupport
import Testing

@testable import Conference
@testable import RoomMedia

@Suite("RoomLog")
struct RoomLogTests {
    @Test("lines about joins, leaves, failures, recordings and refusals have room and participant")
    func lines() async throws {
        let capture = CapturedLog()
        let scratch = ScratchDirectory(isMade: false)
        let conference = try Conference(.onLoopback(scratch), logger: capture.logger)
        try conference.start()
        let ann = try conference.join(AdmittedJoin(room: "r", name: "Ann", role: .presenter)) { _ in }
        let bob = try conference.join(AdmittedJoin(room: "r", name: "Bob")) { _ in }
        _ = try conference.resume(id: ann.id, secret: ann.resumeSecret) { _ in }
        try await ann.record(.start)
        await #expect(throws: ConferenceError.self) { try await bob.record(.start) }
        let id = try #require(ann.recording?.id)
        let stopped = try await conference.recordings.stop(id)
        conference.seats.mediaEnded(bob.id, .failed, "DTLS: the peer's certificate is another")
        bob.leave()
        try conference.rooms.end("r")
        await conference.drain(within: .seconds(2))

        let lines = capture.lines
        func find(_ text: String, _ expected: [String: String]) -> Bool {
            lines.contains { line in
                line.text.hasPrefix(text) && expected.allSatisfy { line.metadata[$0.key]?.description == $0.value }
            }
        }
        #expect(find("joined", ["room": "r", "participant": ann.id, "role": "presenter"]))
        #expect(find("joined", ["room": "r", "participant": bob.id]))
        #expect(find("taken back", ["room": "r", "participant": ann.id]))
        #expect(find("recording started", ["room": "r", "participant": ann.id, "recording": id]))
        #expect(find("recording refused", ["room": "r", "participant": bob.id]))
        #expect(find("recording", ["room": "r", "recording": id, "state": stopped.state.rawValue]), "its end")
        #expect(
            find(
                "a peer's connection ended: DTLS: the peer's certificate is another",
                ["room": "r", "participant": bob.id, "reason": "failed"]))
        #expect(find("left", ["room": "r", "participant": bob.id, "reason": "left"]))
        #expect(find("room ended", ["room": "r", "participants": "1", "reason": "room_ended"]))
    }
}
