import Basics
import Testing

@testable import Peer

/// A line on which packets of a report each 100 ms wait so and so long.
private struct QueuedLink {
    var queue = StandingQueue()
    var rate = 1_000_000.0
    /// The bytes of each packet.
    var size = 1200
    /// The peer's clock less ours.
    var clocks = Duration.zero
    private var now = Instant(nanoseconds: 5_000_000_000)

    /// Reports on packets with these delays, in ms, for `duration`; how often a cut was called for.
    @discardableResult
    mutating func run(_ delays: [Int], for duration: Duration) -> Int {
        let end = now + duration
        var cuts = 0
        while now < end {
            for (index, delay) in delays.enumerated() {
                let sent = now + .milliseconds(index)
                queue.add(
                    size: size, sent: sent, arrival: sent - .zero + clocks + .milliseconds(30 + delay))
            }
            now += .milliseconds(100)
            if queue.endReport(rate: rate, at: now) { cuts += 1 }
        }
        return cuts
    }
}

@Suite("StandingQueue")
struct StandingQueueTests {
    @Test(
        "A long standing queue calls for a cut, and a short one does not", arguments: [-900, 0, 7])
    func stands(hours: Int) {
        var link = QueuedLink()
        link.clocks = .seconds(3600 * hours)
        #expect(link.run([0], for: .seconds(1)) == 0)
        #expect(link.run([100], for: .seconds(3)) == 0)
        #expect(link.queue.delay == .milliseconds(100))
        #expect(link.run([200], for: .milliseconds(100)) == 1)
    }

    @Test("On a slow link one and a half full packets are no queue")
    func thin() {
        // 1.5 × 1200 bytes at 50 kbit/s: 288 ms.
        var link = QueuedLink()
        link.rate = 50_000
        link.run([0], for: .seconds(1))
        #expect(link.run([250], for: .seconds(3)) == 0)
        #expect(link.run([300], for: .milliseconds(100)) == 1)
    }

    @Test("Where packets are small, a shorter queue stands")
    func small() {
        // 1.5 × 400 bytes at 30 kbit/s: 160 ms.
        var link = QueuedLink()
        (link.rate, link.size) = (30_000, 400)
        link.run([0], for: .seconds(1))
        #expect(link.run([150], for: .seconds(1)) == 0)
        #expect(link.run([170], for: .milliseconds(100)) == 1)
    }

    @Test("Jitter is no queue: the fastest packet of a report counts")
    func jitter() {
        var link = QueuedLink()
        #expect(link.run([400, 0, 400, 300], for: .seconds(5)) == 0)
        #expect(link.queue.delay == .zero)
    }

    @Test("There is no second cut within 300 ms, nor while the queue drains")
    func drains() {
        var link = QueuedLink()
        link.run([0], for: .seconds(1))
        #expect(link.run([900], for: .milliseconds(100)) == 1)
        #expect(link.run([900], for: .milliseconds(200)) == 0)
        for delay in [700, 500, 300, 150] { #expect(link.run([delay], for: .milliseconds(300)) == 0, "\(delay)") }
        #expect(link.run([149], for: .milliseconds(300)) == 1, "the queue has stopped draining")
    }

    @Test("A delay that four cuts do not change is taken for a longer path")
    func longerWay() {
        var link = QueuedLink()
        link.run([0], for: .seconds(1))
        #expect(link.run([300], for: .seconds(6)) == StandingQueue.futileCuts)
        #expect(link.queue.delay == .zero)
        #expect(link.run([350], for: .seconds(1)) == 0)
        #expect(link.queue.delay == .milliseconds(50))
    }

    @Test("The base delay is the least of the last ten seconds")
    func window() {
        var link = QueuedLink()
        link.run([0], for: .seconds(1))
        link.run([50], for: .seconds(5))
        #expect(link.queue.delay == .milliseconds(50))
        link.run([50], for: .seconds(6))
        #expect(link.queue.delay == .zero)
    }

    @Test("A report without packets changes nothing")
    func empty() {
        var link = QueuedLink()
        #expect(link.run([], for: .seconds(1)) == 0)
        #expect(link.queue.fastestWay == nil)
        link.run([0], for: .seconds(1))
        link.run([100], for: .milliseconds(100))
        link.run([], for: .seconds(1))
        #expect(link.queue.delay == .milliseconds(100))
    }
}
