import Basics
import Simulation
import TestSupport
import Testing

@testable import Peer

/// A sender that follows its estimate, a link, and a receiver that answers with transport-wide feedback every 100 ms.
private struct EstimatedLink {
    var estimator: BandwidthEstimator
    var forward: SimulatedLink<(SequenceNumber, Int)>
    var backward: SimulatedLink<(SequenceNumber, [Duration?])>
    /// The most that the application would send.
    var applicationRate: BitRate?
    /// A busy receiver looks into its socket only so often.
    var wakeUp: Duration?
    private var now: Instant = .zero
    private var credit = 0.0
    private var recorded: [(SequenceNumber, Instant)] = []
    private var nextFeedback: Instant = .zero
    private var nextBase: SequenceNumber
    private var probe: (ProbeCluster, sentBytes: Int, packets: Int, start: Instant)?

    init(
        _ conditions: LinkConditions, seed: UInt64 = 1, start: BitRate = .kilobits(300),
        firstSequence: SequenceNumber = 65_000
    ) {
        var configuration = BandwidthEstimatorConfiguration()
        configuration.start = start
        estimator = BandwidthEstimator(configuration, usesFeedback: true, firstSequence: firstSequence)
        nextBase = firstSequence
        forward = SimulatedLink(conditions, seed: seed)
        backward = SimulatedLink(LinkConditions(delay: conditions.delay), seed: seed &+ 1)
        estimator.start(at: .zero)
    }

    mutating func run(for duration: Duration, each check: (Instant, BitRate) -> Void = { _, _ in }) {
        let end = now + duration
        while now < end {
            now += .milliseconds(1)
            step()
            if now.nanoseconds % 100_000_000 == 0 { check(now, estimator.estimate) }
        }
    }

    private mutating func step() {
        estimator.advance(to: now)
        if probe == nil, let next = estimator.nextProbe() { probe = (next, 0, 0, now) }
        if var current = probe {
            while Double(current.sentBytes) <= Double(current.0.rate.bitsPerSecond) / 8
                * (now - current.start).inSeconds
            {
                send(1000, cluster: current.0.id)
                current.sentBytes += 1000
                current.packets += 1
                if current.packets >= current.0.packets, current.sentBytes >= current.0.bytes { break }
            }
            probe = current.packets >= current.0.packets && current.sentBytes >= current.0.bytes ? nil : current
        }
        let rate = min(estimator.estimate, applicationRate ?? estimator.estimate)
        credit = min(credit + Double(rate.bitsPerSecond) / 8000, 6000)
        while credit >= 1000 {
            credit -= 1000
            send(1000, cluster: nil)
        }
        while let (sequence, _) = forward.receive(at: now) { recorded.append((sequence, seen(now))) }
        if now >= nextFeedback {
            nextFeedback = now + .milliseconds(100)
            feedback()
        }
        while let (base, arrivals) = backward.receive(at: now) {
            estimator.receive(feedback: base, arrivals: arrivals, at: now)
        }
    }

    private func seen(_ arrival: Instant) -> Instant {
        guard let wakeUp else { return arrival }
        let (turns, rest) = arrival.nanoseconds.quotientAndRemainder(dividingBy: wakeUp.nanoseconds)
        return Instant(nanoseconds: (rest == 0 ? turns : turns + 1) * wakeUp.nanoseconds)
    }

    private mutating func send(_ size: Int, cluster: Int?) {
        let number = estimator.packetSent(size: size, cluster: cluster, at: now)
        forward.send((number, size), size: size - SimulatedLink<Int>.overhead, at: now)
    }

    private mutating func feedback() {
        guard !recorded.isEmpty else { return }
        let base = nextBase
        let last = max(0, recorded.map { $0.0.distance(from: base) }.max() ?? 0)
        var arrivals = [Duration?](repeating: nil, count: last + 1)
        for (sequence, at) in recorded where !sequence.isBefore(base) {
            arrivals[sequence.steps(from: base)] = at - .zero
        }
        nextBase = base + last + 1
        recorded.removeAll()
        backward.send((base, arrivals), size: 100, at: now)
    }
}

@Suite("Bandwidth estimation over a simulated link")
struct BandwidthEstimatorTests {
    private func average(_ link: inout EstimatedLink, over duration: Duration) -> Double {
        var samples: [Double] = []
        link.run(for: duration) { _, estimate in samples.append(Double(estimate.bitsPerSecond)) }
        return samples.reduce(0, +) / Double(max(samples.count, 1))
    }

    @Test("It settles between 70 and 100 % of a link of 1 Mbit/s", arguments: [20, 100])
    func converges(delay: Int) {
        var link = EstimatedLink(LinkConditions(delay: .milliseconds(delay), rate: .megabits(1)))
        link.run(for: .seconds(10))
        let settled = average(&link, over: .seconds(20))
        #expect((700_000...1_000_000).contains(settled))
    }

    @Test("A fall of the link to 300 kbit/s is followed within two seconds, and its rise within ten")
    func follows() {
        var link = EstimatedLink(LinkConditions(delay: .milliseconds(30), rate: .megabits(1)))
        link.run(for: .seconds(15))
        #expect(link.estimator.estimate > .kilobits(600))
        link.forward.change(to: LinkConditions(delay: .milliseconds(30), rate: .kilobits(300)))
        link.run(for: .seconds(2))
        #expect(link.estimator.estimate < .kilobits(360))
        link.run(for: .seconds(8))
        #expect(link.estimator.estimate > .kilobits(150))
        #expect(link.estimator.estimate < .kilobits(400))
        link.forward.change(to: LinkConditions(delay: .milliseconds(30), rate: .megabits(1)))
        link.run(for: .seconds(10))
        #expect(link.estimator.estimate > .kilobits(600))
    }

    @Test("Random loss of 2 % does not make it collapse")
    func standsLoss() {
        var link = EstimatedLink(
            LinkConditions(delay: .milliseconds(30), loss: .random(0.02), rate: .megabits(2)), seed: 7)
        link.run(for: .seconds(15))
        #expect(average(&link, over: .seconds(10)) > 1_000_000)
    }

    @Test("Loss of 25 % lowers it, although the delay never grows, and no further where that does not help")
    func yieldsToLoss() {
        var link = EstimatedLink(LinkConditions(delay: .milliseconds(30)), seed: 3)
        link.run(for: .seconds(5))
        let before = link.estimator.estimate
        link.forward.change(to: LinkConditions(delay: .milliseconds(30), loss: .random(0.25)))
        link.run(for: .seconds(5))
        #expect(link.estimator.estimate < before * 0.8)
        link.run(for: .seconds(20))
        #expect(link.estimator.estimate > before * 0.4)
    }

    @Test("Probes find a fast link within two seconds of the start")
    func probes() {
        var link = EstimatedLink(LinkConditions(delay: .milliseconds(30), rate: .megabits(10)))
        link.run(for: .seconds(2))
        #expect(link.estimator.estimate > .megabits(1))
    }

    @Test("A link is ample once its maximum of use was measured on it, and a thinner one never is")
    func ample() {
        var fast = EstimatedLink(LinkConditions(delay: .milliseconds(30), rate: .megabits(20)))
        #expect(!fast.estimator.isAmple)
        fast.run(for: .seconds(10))
        #expect(fast.estimator.isAmple)
        var thin = EstimatedLink(LinkConditions(delay: .milliseconds(30), rate: .megabits(2)))
        var seen = false
        for _ in 0..<200 {
            thin.run(for: .milliseconds(100))
            seen = seen || thin.estimator.isAmple
        }
        #expect(!seen)
    }

    @Test("A receiver that reads its socket only every 25 ms hides no link capacity", arguments: seeds(1...3))
    func clumps(seed: UInt64) {
        var link = EstimatedLink(
            LinkConditions(delay: .milliseconds(10), jitter: .milliseconds(5), rate: .megabits(5)), seed: seed)
        link.wakeUp = .milliseconds(25)
        link.applicationRate = .kilobits(170)
        link.run(for: .seconds(4))
        #expect(link.estimator.estimate > .megabits(1))
    }

    @Test("An application that sends little is not taken for a slow link")
    func applicationLimited() {
        var link = EstimatedLink(LinkConditions(delay: .milliseconds(30), rate: .megabits(3)))
        link.run(for: .seconds(5))
        link.applicationRate = .kilobits(100)
        link.run(for: .seconds(20))
        #expect(link.estimator.estimate > .megabits(1))
    }

    @Test("Without any feedback it fades, and recovers with it")
    func silence() {
        var link = EstimatedLink(LinkConditions(delay: .milliseconds(30), rate: .megabits(2)))
        link.run(for: .seconds(5))
        let before = link.estimator.estimate
        link.forward.change(to: LinkConditions(delay: .milliseconds(30), loss: .random(1)))
        link.run(for: .seconds(8))
        #expect(link.estimator.estimate < before * 0.6)
        link.forward.change(to: LinkConditions(delay: .milliseconds(30), rate: .megabits(2)))
        link.run(for: .seconds(15))
        #expect(link.estimator.estimate > before * 0.6)
    }

    @Test("An estimate that little traffic tests is lowered when the link has become thin")
    func untested() {
        var link = EstimatedLink(LinkConditions(delay: .milliseconds(30), rate: .megabits(3)))
        link.run(for: .seconds(8))
        #expect(link.estimator.estimate > .megabits(1))
        link.applicationRate = .kilobits(100)
        link.run(for: .seconds(5))
        link.forward.change(to: LinkConditions(delay: .milliseconds(30), rate: .kilobits(200)))
        link.run(for: .seconds(10))
        #expect(link.estimator.estimate < .kilobits(300))
        #expect(link.estimator.estimate > .kilobits(100))
    }

    @Test("Jitter of 30 ms hides no link capacity", arguments: seeds(1...6))
    func jitter(seed: UInt64) {
        var link = EstimatedLink(
            LinkConditions(delay: .milliseconds(30), jitter: .milliseconds(30), reordering: 1, rate: .megabits(3)),
            seed: seed)
        link.applicationRate = .kilobits(500)
        link.run(for: .seconds(15))
        #expect(link.estimator.estimate > .kilobits(1900))
    }

    @Test("A link that was dead for three seconds carries its earlier rate at once")
    func outage() {
        let good = LinkConditions(delay: .milliseconds(30), rate: .megabits(2))
        var link = EstimatedLink(good)
        link.applicationRate = .kilobits(500)
        link.run(for: .seconds(10))
        let before = link.estimator.estimate
        link.forward.change(to: LinkConditions(delay: .milliseconds(30), loss: .random(1)))
        link.run(for: .seconds(3))
        link.forward.change(to: good)
        link.run(for: .seconds(1))
        #expect(link.estimator.estimate > before * 0.75)
    }

    @Test("A REMB below the minimum is obeyed without feedback too")
    func receiverLimit() {
        var estimator = BandwidthEstimator(BandwidthEstimatorConfiguration(), usesFeedback: false)
        estimator.receive(receiverLimit: .kilobits(10), at: .zero)
        #expect(estimator.estimate == .kilobits(10))
    }
}
