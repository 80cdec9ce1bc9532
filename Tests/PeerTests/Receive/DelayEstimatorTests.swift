import Basics
import Testing

@testable import Peer

/// A stream with a packet every 20 ms.
private struct Stream {
    var estimator = DelayEstimator()
    private var media: Int64 = 77_000_000_000
    private var index = 0

    /// Packets for `duration`, of which the one with this index is so many ms late; the last one's delay.
    @discardableResult
    mutating func run(for duration: Duration, late: (Int) -> Int = { _ in 0 }) -> Duration {
        var delay = Duration.zero
        for _ in 0..<Int(duration / .milliseconds(20)) {
            media += 20_000_000
            let arrival = Instant(nanoseconds: media) + .seconds(1000) + .milliseconds(late(index))
            delay = estimator.insert(mediaTime: media, arrival: arrival)
            index += 1
        }
        return delay
    }
}

@Suite("DelayEstimator")
struct DelayEstimatorTests {
    @Test("There is no delay before the first interval ends; a steady stream then needs one bucket")
    func steady() {
        var stream = Stream()
        #expect(stream.estimator.delay == nil && stream.estimator.base == nil)
        stream.run(for: .milliseconds(100))
        #expect(stream.estimator.delay == nil)
        stream.run(for: .milliseconds(100))
        #expect(stream.estimator.delay == .milliseconds(5))
        #expect(stream.estimator.base == Duration.seconds(1000).nanoseconds)
    }

    @Test("The delay covers the jitter", arguments: [20, 60, 120])
    func jitter(most: Int) throws {
        var random = SeededRandom(seed: 3)
        var stream = Stream()
        stream.run(for: .seconds(20)) { _ in Int.random(in: 0...most, using: &random) }
        let delay = try #require(stream.estimator.delay)
        #expect(delay > .milliseconds(most * 9 / 10) && delay <= .milliseconds(most + 5), "\(delay)")
    }

    @Test("One late packet does not change the delay")
    func straggler() {
        var stream = Stream()
        stream.run(for: .seconds(10)) { $0 == 400 ? 150 : 0 }
        #expect(stream.estimator.delay == .milliseconds(5))
    }

    @Test("New jitter raises the delay within two intervals, and is forgotten within ten seconds")
    func trouble() {
        var stream = Stream()
        stream.run(for: .seconds(5))
        stream.run(for: .milliseconds(320)) { $0 % 5 == 0 ? 83 : 0 }
        #expect(stream.estimator.delay == .milliseconds(85))
        stream.run(for: .seconds(2)) { $0 % 5 == 0 ? 83 : 0 }
        stream.run(for: .seconds(10))
        #expect(stream.estimator.delay == .milliseconds(5))
    }

    @Test("A delay beyond the histogram counts as its last bucket")
    func beyond() {
        var stream = Stream()
        stream.run(for: .seconds(5)) { $0 % 5 == 0 ? 1000 : 0 }
        #expect(stream.estimator.delay == .milliseconds(505))
    }

    @Test("A longer path becomes the base within half a second, a shorter one at once")
    func newWay() {
        var stream = Stream()
        stream.run(for: .seconds(5))
        #expect(stream.run(for: .milliseconds(200)) { _ in 300 } == .milliseconds(300))
        #expect(stream.run(for: .milliseconds(300)) { _ in 300 } == .zero)
        #expect(stream.run(for: .milliseconds(20)) { _ in 200 } == .zero)
        #expect(stream.run(for: .milliseconds(20)) { _ in 250 } == .milliseconds(50))
    }

    @Test("The base follows clocks that drift apart")
    func drift() {
        var stream = Stream()
        // 100 ppm over ten minutes: 60 ms.
        #expect(stream.run(for: .seconds(600)) { $0 / 500 } <= .milliseconds(1))
    }

    @Test("A rebase keeps the histogram and forgets the base")
    func rebase() {
        var stream = Stream()
        stream.run(for: .seconds(10)) { $0 % 5 == 0 ? 40 : 0 }
        let before = stream.estimator.delay
        stream.estimator.rebase()
        #expect(stream.estimator.base == nil && stream.estimator.delay == before && before == .milliseconds(45))
        #expect(stream.run(for: .milliseconds(20)) { _ in 9000 } == .zero)
    }
}
