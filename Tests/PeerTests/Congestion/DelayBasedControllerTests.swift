import Basics
import Testing

@testable import Peer

/// A controller that is asked every 100 ms.
private struct Steered {
    var controller: DelayBasedController
    var roundTrip = Duration.milliseconds(100)
    private var now = Instant.zero

    init(_ start: Double, range: ClosedRange<Double> = 50_000...10_000_000) {
        controller = DelayBasedController(start: start, range: range)
    }

    var rate: Double { controller.rate }

    /// - Parameter acknowledged: what gets through; nil: as much as is sent.
    mutating func run(
        _ usage: LinkUsage, for duration: Duration, acknowledged: Double? = nil, isLimited: Bool = false
    ) {
        let end = now + duration
        while now < end {
            now += .milliseconds(100)
            _ = controller.update(
                usage: usage, acknowledged: acknowledged ?? controller.rate, isLimited: isLimited,
                roundTrip: roundTrip, at: now)
        }
    }

    mutating func tell(_ usage: LinkUsage, acknowledged: Double?, after pause: Duration, isLimited: Bool = false)
        -> Bool
    {
        now += pause
        return controller.update(
            usage: usage, acknowledged: acknowledged, isLimited: isLimited, roundTrip: roundTrip, at: now)
    }
}

@Suite("DelayBasedController")
struct DelayBasedControllerTests {
    @Test("The rate grows by 8 % a second while the link is not full")
    func grows() {
        var link = Steered(1_000_000)
        link.run(.normal, for: .milliseconds(100))
        link.run(.normal, for: .seconds(10))
        // 1.08 to the tenth is 2.16.
        #expect((2_100_000...2_250_000).contains(link.rate), "\(link.rate)")
    }

    @Test("Overuse cuts the rate to 85 % of the acknowledged rate, within limits")
    func cuts() {
        func cut(_ acknowledged: Double?) -> Double {
            var link = Steered(1_000_000)
            let isCut = link.tell(.overused, acknowledged: acknowledged, after: .zero)
            #expect(isCut)
            return link.rate
        }
        #expect(cut(800_000) == 680_000)
        #expect(cut(100_000) == 600_000, "the acknowledged rate lags behind")
        #expect(cut(2_000_000) == 970_000, "it was too much all the same")
        #expect(cut(nil) == 850_000)
    }

    @Test("There is no second cut within a round trip, unless far less is acknowledged")
    func once() {
        var link = Steered(1_000_000)
        let first = link.tell(.overused, acknowledged: 900_000, after: .zero)
        let soon = link.tell(.overused, acknowledged: 700_000, after: .milliseconds(50))
        let later = link.tell(.overused, acknowledged: 700_000, after: .milliseconds(60))
        let collapse = link.tell(.overused, acknowledged: 100_000, after: .milliseconds(10))
        #expect([first, soon, later, collapse] == [true, false, true, true])
    }

    @Test("The rate holds while a queue drains")
    func holds() {
        var link = Steered(1_000_000)
        link.run(.normal, for: .seconds(1))
        let before = link.rate
        link.run(.underused, for: .seconds(5))
        #expect(link.rate == before)
        link.run(.normal, for: .seconds(1))
        #expect(link.rate > before)
    }

    @Test("Near the known capacity the rate grows slowly, and fast again once the link carries more")
    func nearCapacity() {
        var link = Steered(1_000_000)
        _ = link.tell(.overused, acknowledged: 1_000_000, after: .zero)
        link.run(.normal, for: .milliseconds(100), acknowledged: 900_000)
        let start = link.rate
        link.run(.normal, for: .seconds(1), acknowledged: 900_000)
        let near = link.rate / start - 1
        #expect(near > 0.005 && near < 0.07, "\(near)")
        let known = link.rate
        link.run(.normal, for: .seconds(1), acknowledged: 3_000_000)
        #expect((0.075...0.085).contains(link.rate / known - 1))
    }

    @Test("The rate grows to one and a half times the acknowledged rate, and is not pulled down to it")
    func headroom() {
        var link = Steered(150_000)
        link.run(.normal, for: .seconds(60), acknowledged: 200_000)
        #expect((300_000...310_000).contains(link.rate), "\(link.rate)")
        var ahead = Steered(1_000_000)
        ahead.run(.normal, for: .seconds(60), acknowledged: 200_000)
        #expect(ahead.rate == 1_000_000)
    }

    @Test("Little traffic without an acknowledged rate does not raise the rate")
    func limited() {
        var link = Steered(1_000_000)
        for _ in 0..<100 { _ = link.tell(.normal, acknowledged: nil, after: .milliseconds(100), isLimited: true) }
        #expect(link.rate == 1_000_000)
        for _ in 0..<10 { _ = link.tell(.normal, acknowledged: nil, after: .milliseconds(100)) }
        #expect(link.rate > 1_050_000)
    }

    @Test("A gap between updates counts for no more than a second")
    func pause() {
        var link = Steered(1_000_000)
        link.run(.normal, for: .milliseconds(100))
        _ = link.tell(.normal, acknowledged: 1_000_000, after: .seconds(3600))
        #expect(link.rate <= 1_080_001)
    }

    @Test("Updates, probes and limits keep the rate within its range")
    func range() {
        var link = Steered(100_000, range: 50_000...120_000)
        link.run(.normal, for: .seconds(30))
        #expect(link.rate == 120_000)
        link.run(.overused, for: .seconds(30), acknowledged: 1000)
        #expect(link.rate == 50_000)
        link.controller.probed(1_000_000)
        #expect(link.rate == 120_000)
        link.controller.limit(to: 70_000)
        link.controller.limit(to: 90_000)
        #expect(link.rate == 70_000, "a limit never raises it")
        link.controller.limit(to: 10)
        #expect(link.rate == 50_000)
    }
}
