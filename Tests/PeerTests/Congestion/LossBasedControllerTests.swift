import Basics
import TestSupport
import Testing

@testable import Peer

/// A line of 1 Mbit/s at most that reports on ten packets every 100 ms.
private struct LossyLink {
    /// So long the reports of one sample take.
    static let sample = Duration.milliseconds(600)

    var controller = LossBasedController()
    var roundTrip = Duration.milliseconds(50)
    var acknowledged: Double?
    /// Every ceiling that there was.
    private(set) var ceilings: [Double?] = []
    private var now = Instant(nanoseconds: 1_000_000_000)
    private var debt = 0.0

    var rate: Double { min(1_000_000, controller.ceiling ?? .infinity) }

    mutating func run(_ loss: Double, for duration: Duration) {
        let end = now + duration
        while now < end {
            now += .milliseconds(100)
            debt += 10 * loss
            let lost = Int(debt)
            debt -= Double(lost)
            controller.report(
                expected: 10, lost: lost, current: rate, acknowledged: acknowledged, roundTrip: roundTrip, at: now)
            if ceilings.isEmpty || ceilings.last != .some(controller.ceiling) { ceilings.append(controller.ceiling) }
        }
    }
}

@Suite("LossBasedController")
struct LossBasedControllerTests {
    @Test("Loss above 10 % cuts the rate by half the loss, and three clean seconds lift the ceiling")
    func backsOff() {
        var link = LossyLink()
        link.run(0, for: LossyLink.sample * 8)
        #expect(link.controller.ceiling == nil)
        link.run(0.2, for: LossyLink.sample)
        #expect((890_000...910_000).contains(link.rate), "\(link.rate)")
        link.run(0.2, for: .seconds(5))
        let low = link.rate
        #expect(low < 600_000)
        link.run(0, for: .seconds(2))
        #expect(link.rate > low && link.controller.ceiling != nil)
        link.run(0, for: .seconds(4))
        #expect(link.controller.ceiling == nil)
    }

    @Test("Between 2 and 10 % the ceiling stays where it is")
    func between() throws {
        var link = LossyLink()
        link.run(0, for: LossyLink.sample * 8)
        link.run(0.2, for: LossyLink.sample * 2)
        let ceiling = try #require(link.controller.ceiling)
        link.run(0.06, for: .seconds(5))
        #expect(link.controller.ceiling == ceiling)
    }

    @Test("Loss in the first two seconds is ignored")
    func grace() {
        var link = LossyLink()
        link.run(0.25, for: .milliseconds(1900))
        #expect(link.controller.ceiling == nil)
        // Nor is it the link's own: the start rate has filled a queue.
        link.run(0, for: LossyLink.sample * 4)
        #expect(link.controller.inherent < 0.02)
    }

    @Test("Loss above 30 % limits the rate to the acknowledged rate at once, but to no less than half")
    func flood() {
        var link = LossyLink()
        link.acknowledged = 700_000
        link.run(0.4, for: .milliseconds(700))
        #expect(link.controller.ceiling == 700_000)
        var broken = LossyLink()
        broken.acknowledged = 100_000
        broken.run(0.9, for: .milliseconds(700))
        #expect(broken.controller.ceiling == 500_000)
    }

    @Test("A sample needs enough packets and enough time")
    func samples() {
        var controller = LossBasedController()
        var now = Instant.zero
        func report(_ expected: Int, lost: Int, after pause: Duration) {
            now += pause
            controller.report(
                expected: expected, lost: lost, current: 1_000_000, acknowledged: nil, roundTrip: .zero, at: now)
        }
        for _ in 0..<20 { report(10, lost: 0, after: .milliseconds(500)) }
        #expect(controller.smoothed == 0)
        for _ in 0..<(LossBasedController.leastPackets - 1) { report(1, lost: 1, after: .seconds(1)) }
        #expect(controller.ceiling == nil && controller.fraction == 0)
        report(1, lost: 1, after: .seconds(1))
        #expect(controller.fraction == 1)

        controller = LossBasedController()
        for _ in 0..<20 { report(10, lost: 0, after: .milliseconds(500)) }
        report(100, lost: 100, after: .milliseconds(500))
        report(100, lost: 100, after: LossBasedController.leastTime - .milliseconds(1))
        #expect(controller.ceiling == nil && controller.fraction == 0)
        report(0, lost: 0, after: .milliseconds(1))
        #expect(controller.fraction == 1)
    }

    @Test("Loss that the link always has sets no ceiling; loss above it does")
    func inherent() {
        var link = LossyLink()
        link.run(0.15, for: .seconds(20))
        #expect(link.controller.ceiling == nil)
        link.run(0.15, for: .seconds(20))
        #expect(link.controller.ceiling == nil)
        link.run(0.36, for: .seconds(2))
        #expect(link.rate < 950_000)
    }

    @Test("On a link that loses 30 % by chance the rate does not fall from sample to sample", arguments: seeds(1...20))
    func chance(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var controller = LossBasedController()
        var now = Instant.zero
        // Twenty to thirty packets a sample, as speech and a small picture have.
        for _ in 0..<1000 {
            now += .milliseconds(60)
            let rate = min(100_000, controller.ceiling ?? .infinity)
            let lost = (0..<3).count { _ in Double.random(in: 0..<1, using: &random) < 0.3 }
            controller.report(
                expected: 3, lost: lost, current: rate, acknowledged: rate * 0.7, roundTrip: .milliseconds(100), at: now
            )
        }
        #expect(controller.ceiling ?? 100_000 > 60_000)
    }

    @Test("Cuts are at least a round trip apart")
    func rhythm() {
        func cuts(_ roundTrip: Duration) -> Int {
            var link = LossyLink()
            link.roundTrip = roundTrip
            link.run(0, for: .seconds(4))
            link.run(0.2, for: .seconds(6))
            return link.ceilings.count - 1
        }
        #expect(cuts(.milliseconds(50)) > 8)
        #expect((3...5).contains(cuts(.milliseconds(1200))))
    }

    @Test("A probe lifts the ceiling to the rate that it measured, and never lowers it")
    func probe() throws {
        var link = LossyLink()
        link.controller.probed(10)
        #expect(link.controller.ceiling == nil)
        link.run(0, for: .seconds(4))
        link.run(0.2, for: .seconds(3))
        let ceiling = try #require(link.controller.ceiling)
        link.controller.probed(ceiling / 2)
        #expect(link.controller.ceiling == ceiling)
        link.controller.probed(ceiling * 1.5)
        #expect(link.controller.ceiling == ceiling * 1.5)
    }
}
