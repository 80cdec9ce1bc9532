import Basics
import Codecs
import Foundation
import Peer
import Testing
import Threads

@testable import RoomMedia

@Suite struct InputIntakeTests {
    private let services = StillServices()

    /// The budgets begin at the time of the clock.
    private let start = MonotonicClock.now()

    private func second(_ seconds: Double) -> Instant { start + .seconds(seconds) }

    /// The packets of the inbox.
    private func packets(_ engine: RoomEngine) -> [(timestamp: Int64, capture: Double, level: UInt8?)] {
        guard let inbox = engine.intake("i")?.inbox else { return [] }
        var all: [ReceivedAudioPacket] = []
        inbox.take(into: &all)
        return all.map { ($0.timestamp, ($0.captureTime - start).inSeconds, $0.level) }
    }

    @Test func `audio becomes packets of 20 ms with the times of their first samples, whatever the blocks`() {
        let engine = services.room()
        let intake = engine.addInput("i")
        let tone = (0..<4800).map { 0.5 * sinf(Float($0) * 0.1) }
        var position = 0
        // AAC's blocks.
        while position + 1024 <= tone.count {
            intake.hear(
                Array(tone[position..<position + 1024]), position: Int64(position),
                captureTime: second(Double(position) / 48_000), at: second(Double(position) / 48_000))
            position += 1024
        }
        let found = packets(engine)
        #expect(found.map(\.timestamp) == [0, 960, 1920, 2880])
        for packet in found {
            #expect(abs(packet.capture - Double(packet.timestamp) / 48_000) < 0.000_01)
            #expect((5...15).contains(packet.level ?? 127))
        }
    }

    @Test func `a gap is a gap of the timestamps, and a new stream has a number of its own`() throws {
        let engine = services.room()
        let intake = engine.addInput("i")
        let block = [Float](repeating: 0.1, count: 960)
        intake.hear(block, position: 0, captureTime: second(0), at: second(0))
        intake.hear(Array(block.prefix(100)), position: 960, captureTime: second(0.02), at: second(0.02))
        // The rest of that packet never comes.
        intake.hear(block, position: 48_000, captureTime: second(1), at: second(1))
        #expect(packets(engine).map(\.timestamp) == [0, 48_000])
        intake.restart()
        intake.hear(block, position: 5, captureTime: second(2), at: second(2))
        var all: [ReceivedAudioPacket] = []
        try #require(engine.intake("i")).inbox.take(into: &all)
        #expect(all.map(\.ssrc.rawValue) == [2] && all.map(\.timestamp) == [5])
    }

    @Test func `a picture is shown at its capture time, and a size that is too expensive is refused`() throws {
        let engine = services.room()
        let intake = engine.addInput("i")
        let picture = Picture(width: 320, height: 180)
        intake.show(picture, rotation: .none, captureTime: second(0), at: second(0))
        let view = try #require(engine.intake("i")).video.view(at: second(0.01))
        #expect(view.picture === picture)
        #expect(view.captureTime == second(0))
        #expect(intake.admits(width: 1920, height: 1080, at: second(0)))
        var admitted = 0
        for _ in 0..<2000 where intake.admits(width: 1920, height: 1080, at: second(0)) { admitted += 1 }
        #expect(admitted < 600, "2^30 pixels are 517 pictures")
        #expect(!intake.admits(width: 1920, height: 1080, at: second(0.1)))
        #expect(intake.admits(width: 1920, height: 1080, at: second(5)))
    }
}
