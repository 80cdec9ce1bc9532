import Basics
import Testing

@testable import Conference

@Suite("RecordingStarts")
struct RecordingStartsTests {
    private func at(_ seconds: Int64) -> Instant { Instant(nanoseconds: seconds * 1_000_000_000) }

    @Test("a room's starts are limited by minute, with the time to wait; other rooms have their own limit")
    func rate() {
        var starts = RecordingStarts(perMinute: 3)
        for _ in 0..<3 { #expect(starts.take("r", at: at(0)) == nil) }
        let wait = starts.take("r", at: at(0)) ?? .zero
        #expect(wait > .seconds(19) && wait < .seconds(21))
        #expect(starts.take("other", at: at(0)) == nil)
        #expect(starts.take("r", at: at(21)) == nil)
        #expect(starts.take("r", at: at(22)) != nil)
    }

    @Test("the number of remembered rooms is bounded, and a room is forgotten after a minute")
    func rooms() {
        var starts = RecordingStarts(perMinute: 3)
        for number in 0..<RecordingStarts.maxRooms { #expect(starts.take("\(number)", at: at(0)) == nil) }
        #expect(starts.take("one more", at: at(1)) == .seconds(60))
        #expect(starts.take("0", at: at(1)) == nil, "who is known goes on")
        #expect(starts.take("one more", at: at(61)) == nil)
    }
}
