import Basics
import Testing

@testable import Peer

@Suite("BusyRate")
struct BusyRateTests {
    private struct Arrivals {
        var rate = BusyRate()
        private var now = Duration.zero

        mutating func add(_ count: Int, every step: Duration, size: Int = 1000) {
            for _ in 0..<count {
                now += step
                rate.add(size: size, arrival: now)
            }
        }
    }

    private func near(_ value: Double?, _ expected: Double) -> Bool {
        value.map { abs($0 - expected) < 0.01 * expected } ?? false
    }

    @Test("A steady stream has its own rate, however long it is", arguments: [10, 64, 1000])
    func steady(count: Int) {
        var arrivals = Arrivals()
        arrivals.add(count, every: .milliseconds(8))
        #expect(near(arrivals.rate.rate, 1_000_000))
    }

    @Test("A burst in a slow stream has the rate of the burst")
    func burst() {
        var arrivals = Arrivals()
        arrivals.add(20, every: .milliseconds(50), size: 100)
        arrivals.add(20, every: .milliseconds(4))
        #expect(near(arrivals.rate.rate, 2_000_000))
    }

    @Test("A clump of less than 30 ms has no rate, nor have fewer than nine packets")
    func clump() {
        var arrivals = Arrivals()
        #expect(arrivals.rate.rate == nil)
        arrivals.add(40, every: .microseconds(700))
        #expect(arrivals.rate.rate == nil, "28 ms")
        arrivals = Arrivals()
        arrivals.add(8, every: .milliseconds(20))
        #expect(arrivals.rate.rate == nil)
        arrivals.add(1, every: .milliseconds(20))
        #expect(near(arrivals.rate.rate, 400_000))
    }

    @Test("Packets of more than 500 ms ago do not count")
    func old() {
        var arrivals = Arrivals()
        arrivals.add(30, every: .milliseconds(4))
        arrivals.add(1, every: .milliseconds(600))
        #expect(arrivals.rate.rate == nil)
        arrivals.add(10, every: .milliseconds(16))
        #expect(near(arrivals.rate.rate, 500_000))
    }

    @Test("A reset forgets all packets")
    func reset() {
        var arrivals = Arrivals()
        arrivals.add(30, every: .milliseconds(4))
        arrivals.rate.reset()
        arrivals.add(8, every: .milliseconds(8))
        #expect(arrivals.rate.rate == nil)
    }
}
