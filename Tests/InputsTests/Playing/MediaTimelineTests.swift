import Basics
import Codecs
import Testing

@testable import Inputs

@Suite struct MediaTimelineTests {
    private static let frame = Duration.milliseconds(40)

    @Test func `times that go on stay as they are`() {
        var timeline = MediaTimeline()
        for number in 0..<5 {
            let placed = timeline.place(.video, at: .seconds(100) + Self.frame * number, lasting: Self.frame)
            #expect(placed.time == .seconds(100) + Self.frame * number)
            #expect(placed.shift == .zero)
        }
    }

    @Test func `a loop begins at the end of what has come, for both streams`() {
        var timeline = MediaTimeline()
        for number in 0..<25 {
            _ = timeline.place(.video, at: Self.frame * number, lasting: Self.frame)
            _ = timeline.place(.audio, at: Self.frame * number, lasting: Self.frame)
        }
        timeline.restart()
        #expect(timeline.place(.video, at: .zero, lasting: Self.frame).time == .seconds(1))
        #expect(timeline.place(.audio, at: .milliseconds(3), lasting: Self.frame).time == .milliseconds(1003))
        #expect(timeline.place(.video, at: Self.frame, lasting: Self.frame).time == .milliseconds(1040))
    }

    @Test(arguments: [Duration.zero, .seconds(50), .seconds(100_000)])
    func `a clock that starts anew goes on, and late packets of the other stream are of the time before`(
        restart: Duration
    ) {
        var timeline = MediaTimeline()
        for number in 0..<25 {
            _ = timeline.place(.video, at: .seconds(100) + Self.frame * number, lasting: Self.frame)
            _ = timeline.place(.audio, at: .seconds(100) + Self.frame * number, lasting: Self.frame)
        }
        #expect(timeline.place(.video, at: restart, lasting: Self.frame).time == .seconds(101))
        #expect(timeline.place(.audio, at: .seconds(101), lasting: Self.frame).time == .seconds(101))
        #expect(timeline.place(.video, at: restart + Self.frame, lasting: Self.frame).time == .milliseconds(101_040))
        let audio = timeline.place(.audio, at: restart + Self.frame, lasting: Self.frame).time
        #expect(abs((audio - .milliseconds(101_080)).inMilliseconds) <= 40)
    }

    @Test func `a packet without a time follows the one before`() {
        var timeline = MediaTimeline()
        #expect(timeline.place(.audio, at: .seconds(5), lasting: Self.frame).time == .seconds(5))
        #expect(timeline.place(.audio, at: nil, lasting: Self.frame).time == .milliseconds(5040))
        #expect(timeline.place(.audio, at: nil, lasting: .zero).time == .milliseconds(5060))
    }

    @Test func `no sequence of times makes the line go back by more than a reordering`() {
        var timeline = MediaTimeline()
        var last: Duration?
        var state: UInt64 = 7
        for _ in 0..<2000 {
            state = state &* 6_364_136_223_846_793_005 &+ 1
            let time = Duration.nanoseconds(Int64(bitPattern: state >> 4) - (1 << 59))
            let placed = timeline.place(.video, at: time, lasting: Self.frame).time
            if let last { #expect(placed - last >= .zero - MediaTimeline.stepBack) }
            last = placed
        }
    }
}
