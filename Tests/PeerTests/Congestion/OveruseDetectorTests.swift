import Basics
import Testing

@testable import Peer

/// A detector that is told a trend every 20 ms.
private struct Trends {
    var detector = OveruseDetector()
    private var now = Instant.zero

    /// Tells one trend `count` times, and returns the last verdict.
    @discardableResult
    mutating func tell(_ trend: Double, times count: Int = 1, apart step: Duration = .milliseconds(20)) -> LinkUsage {
        for _ in 0..<count {
            now += step
            _ = detector.update(trend: trend, sendDelta: min(step, .milliseconds(20)), at: now)
        }
        return detector.usage
    }
}

@Suite("OveruseDetector")
struct OveruseDetectorTests {
    @Test("One high trend is not overuse, a second one is, and a low one ends it")
    func twice() {
        var trends = Trends()
        #expect(trends.tell(100) == .normal)
        #expect(trends.tell(100) == .overused)
        #expect(trends.tell(0) == .normal)
        #expect(trends.tell(-100) == .underused)
        #expect(trends.tell(0) == .normal)
    }

    @Test("A high trend that falls is not overuse: the queue already drains")
    func falling() {
        var trends = Trends()
        for trend in stride(from: 100.0, through: 60, by: -1) { #expect(trends.tell(trend) == .normal) }
        trends.tell(61)
        #expect(trends.detector.usage == .overused)
    }

    @Test("Overuse must last ten milliseconds of sending, however many groups those are")
    func patience() {
        var trends = Trends()
        // Half of the first step and five whole ones are 11 ms.
        #expect(trends.tell(100, times: 5, apart: .milliseconds(2)) == .normal)
        #expect(trends.tell(100, apart: .milliseconds(2)) == .overused)
    }

    @Test("The threshold rises beside a flow that keeps the queue growing")
    func rises() {
        var fresh = Trends()
        #expect(fresh.tell(18, times: 2) == .overused)
        var used = Trends()
        used.tell(20, times: 100)
        #expect(used.tell(18, times: 10) == .normal)
    }

    @Test("The threshold falls on an idle link, so that a small queue is found")
    func falls() {
        var fresh = Trends()
        #expect(fresh.tell(8, times: 2) == .normal)
        var quiet = Trends()
        quiet.tell(0, times: 200)
        #expect(quiet.tell(8, times: 2) == .overused)
    }

    @Test("Spikes do not move the threshold")
    func spikes() {
        var trends = Trends()
        trends.tell(12)
        trends.tell(200, times: 200)
        trends.tell(12)
        #expect(trends.tell(18, times: 2) == .overused)
    }

    @Test("A gap between updates adapts the threshold by no more than 100 ms")
    func pause() {
        var trends = Trends()
        trends.tell(12)
        trends.tell(20, apart: .seconds(10))
        #expect(trends.tell(20) == .overused, "ten seconds would have raised the threshold beyond 20")
    }

    @Test("The threshold stays within its range, however long the trend rises")
    func range() {
        var trends = Trends()
        for trend in stride(from: 10.0, through: 660, by: 5) { trends.tell(trend, times: 20) }
        #expect(trends.tell(OveruseDetector.thresholdRange.upperBound - 1) == .normal)
        // Above what the threshold may be, and no spike.
        trends.tell(OveruseDetector.thresholdRange.upperBound + 1)
        #expect(trends.tell(OveruseDetector.thresholdRange.upperBound + 2) == .overused)
    }
}
