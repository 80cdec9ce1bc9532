import Basics
import Testing

@Suite("Recurring delays")
struct RecurringDelaysTests {
    private func at(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: (100_000 + milliseconds) * 1_000_000) }

    /// The recurring delays at `now`, in milliseconds, with a window of ten seconds.
    private func recurring(_ delays: [(at: Int64, delay: Int64)], at now: Int64) -> [Duration] {
        var seen = RecurringDelays(window: .seconds(10))
        for delay in delays { seen.note(.milliseconds(delay.delay), at: at(delay.at)) }
        seen.forget(at: at(now))
        return seen.recurring
    }

    @Test("a single delay does not recur, and neither do two in adjacent buckets")
    func alone() {
        #expect(recurring([], at: 0) == [])
        #expect(recurring([(100, 300)], at: 200) == [])
        #expect(recurring([(100, 300), (400, 200), (900, 250)], at: 1000) == [])
    }

    @Test("the longest delay of each half second counts")
    func longest() {
        #expect(
            recurring([(0, 100), (200, 300), (499, 200), (1000, 50), (1100, 40)], at: 1200) == [
                .milliseconds(300), .milliseconds(50),
            ])
    }

    @Test("delays older than the window are dropped, and the rest must recur by itself")
    func forgotten() {
        let delays: [(at: Int64, delay: Int64)] = [(0, 300), (5000, 200), (6000, 100)]
        #expect(recurring(delays, at: 9999).count == 3)
        #expect(recurring(delays, at: 10_000) == [.milliseconds(200), .milliseconds(100)])
        #expect(recurring(delays, at: 15_000) == [])
    }

    @Test("a delay with an earlier time counts in the latest half second")
    func backwards() {
        #expect(recurring([(0, 100), (2000, 200), (1500, 300)], at: 2000) == [.milliseconds(100), .milliseconds(300)])
    }
}
