import Basics
import Testing

@Suite("Delays that come again")
struct RecurringDelaysTests {
    private func at(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: (100_000 + milliseconds) * 1_000_000) }

    /// What recurs at `now` of delays of so many milliseconds, with a memory of ten seconds.
    private func recurring(_ delays: [(at: Int64, delay: Int64)], at now: Int64) -> [Duration] {
        var seen = RecurringDelays(memory: .seconds(10))
        for delay in delays { seen.note(.milliseconds(delay.delay), at: at(delay.at)) }
        seen.forget(at: at(now))
        return seen.recurring
    }

    @Test("one that stays alone says nothing, and neither do two that are one")
    func alone() {
        #expect(recurring([], at: 0) == [])
        #expect(recurring([(100, 300)], at: 200) == [])
        #expect(recurring([(100, 300), (400, 200), (900, 250)], at: 1000) == [])
    }

    @Test("of each half second the longest counts")
    func longest() {
        #expect(
            recurring([(0, 100), (200, 300), (499, 200), (1000, 50), (1100, 40)], at: 1200) == [
                .milliseconds(300), .milliseconds(50),
            ])
    }

    @Test("what is longer ago than the memory is forgotten, and what is left must have come again by itself")
    func forgotten() {
        let delays: [(at: Int64, delay: Int64)] = [(0, 300), (5000, 200), (6000, 100)]
        #expect(recurring(delays, at: 9999).count == 3)
        #expect(recurring(delays, at: 10_000) == [.milliseconds(200), .milliseconds(100)])
        #expect(recurring(delays, at: 15_000) == [])
    }

    @Test("a time that goes back belongs to the latest half second")
    func backwards() {
        #expect(recurring([(0, 100), (2000, 200), (1500, 300)], at: 2000) == [.milliseconds(100), .milliseconds(300)])
    }
}
