public import Basics

/// Bounds and start of the estimate of what a peer's link carries.
public struct BandwidthEstimatorConfiguration: Sendable {
    /// The estimate before anything was measured.
    public var start: BitRate = .kilobits(300)
    /// The estimate never falls below this.
    public var minimum: BitRate = .kilobits(30)
    /// The largest rendition and some room to repair it.
    public var maximum: BitRate = .megabits(5)

    /// The usual bounds.
    public init() {}
}

/// Estimates how much of what we send one peer's link carries: Google congestion control over transport-wide feedback;
/// REMB and receiver reports without it.
///
/// A value without clock or I/O: packets that leave and reports that arrive go in, an estimate and probes come out.
struct BandwidthEstimator: Sendable {
    /// A gap between reports that is longer than two round trips, and at least this, restarts the delay trend (as in
    /// str0m).
    static let gapLimit: Duration = .milliseconds(500)
    /// If packets are unreported and no report came for this long, nothing grows …
    static let freezeAfter: Duration = .milliseconds(500)
    /// … and after this time the estimate shrinks by a fifth per second.
    static let fadeAfter: Duration = .seconds(2)
    static let fade = 0.8
    /// The first report should not take longer than this.
    static let firstAnswer: Duration = .seconds(1)
    /// For this long after the start the first probe may lower the estimate.
    static let startPhase: Duration = .seconds(3)
    /// Until the first probe is answered, but at most for this long, only audio is sent beside it: a picture sent
    /// meanwhile would fill the queue of a thin link and delay or drop the probe's packets. On a good link the report
    /// comes within a round trip and the peer's report interval …
    static let firstProbeTime: Duration = .milliseconds(600)
    /// … unless the handshake, some 3 kB in both directions with the certificates, took no longer than this, which no
    /// thin link achieves …
    static let quickHandshake: Duration = .milliseconds(150)
    /// … and if no report at all came by then, the path is long or both directions are full.
    static let firstProbeTimeUnheard: Duration = .milliseconds(1500)
    /// A queue longer than this is drained: a third of the link's rate is left for that.
    static let longQueue: Duration = .milliseconds(200)
    static let drain = 0.7
    /// The part of the rate that a standing queue let through at which sending resumes once the queue is empty; a drain
    /// that takes longer than `drainTime` shows nothing.
    static let afterDrain = 0.9
    static let drainTime: Duration = .seconds(4)
    /// A probe that measures so many times what the handshake has shown refutes it.
    static let refuted = 2.2
    /// From this part of the configured maximum on the link is not what limits us.
    static let ample = 0.95
    /// Above this loss a frame is not sent in one burst: a burst of losses would take all of it.
    static let ampleLoss = 0.01

    private(set) var history: SentPacketHistory
    private var grouping = InterArrivalGrouping()
    private var trendline = TrendlineEstimator()
    private var detector = OveruseDetector()
    private var acknowledged = AcknowledgedRate()
    private var busy = BusyRate()
    private var queue = StandingQueue()
    private var drained: (rate: Double, since: Instant)?
    private var started: Instant?
    private var awaitsFirstProbe = false
    /// What the handshake has shown of a thin link, in bit/s, until a probe shows much more: a lost flight looks the same.
    private var shown: Double?
    /// The estimate is more than a guess before the first probe is answered.
    var isMeasured: Bool { shown != nil }
    private var delay: DelayBasedController
    private var loss = LossBasedController()
    private var limit = ApplicationLimit()
    private var probes: ProbeController
    private var probeEstimator = ProbeEstimator()
    private var receiverLimit: Double?
    /// The most that the peer's description accepts (`b=`), audio and video together; nil: it does not say.
    var describedLimit: BitRate? { didSet { boundProbes() } }
    /// The most that the peer accepts for now (RFC 5104 §4.2.1), audio and video together; nil: it does not say.
    var temporaryLimit: BitRate? { didSet { boundProbes() } }
    private var lastFeedback: Instant?
    private var lastFade: Instant?
    /// The estimate before reports stopped coming.
    private var beforeSilence: Double?
    /// Mean jitter of the groups' arrivals.
    private var jitter = Duration.zero
    private var nextCheck: Instant?
    private let configuration: BandwidthEstimatorConfiguration
    /// Smoothed; from receiver reports or, without them, from feedback.
    private(set) var roundTrip: Duration = .milliseconds(100)
    private var hasRoundTrip = false
    /// The controller for a peer without transport-wide feedback.
    private var follower = ReceiverFollower()
    /// Transport-wide feedback was received, or is expected.
    let usesFeedback: Bool

    init(_ configuration: BandwidthEstimatorConfiguration, usesFeedback: Bool, firstSequence: SequenceNumber = 0) {
        self.configuration = configuration
        self.usesFeedback = usesFeedback
        history = SentPacketHistory(firstSequence: firstSequence)
        let range =
            Double(
                configuration.minimum.bitsPerSecond)...Double(
                max(configuration.maximum, configuration.minimum).bitsPerSecond)
        let start = min(max(Double(configuration.start.bitsPerSecond), range.lowerBound), range.upperBound)
        delay = DelayBasedController(start: start, range: range)
        probes = ProbeController(ceiling: range.upperBound)
    }

    /// The rate at which to send now.
    var estimate: BitRate {
        // The limit that a receiver requests may lie below our floor.
        let requested = min(receiverLimit ?? .infinity, peerLimit)
        guard requested < Double(linkEstimate.bitsPerSecond) else { return linkEstimate }
        return BitRate(bitsPerSecond: Int(saturating: requested))
    }

    /// What the link carries, whatever the receiver requests.
    var linkEstimate: BitRate {
        let value = min(delay.rate, loss.ceiling ?? .infinity)
        return BitRate(bitsPerSecond: Int(saturating: max(value, Double(configuration.minimum.bitsPerSecond))))
    }
    /// The link carries the configured maximum, no queue stands on it, and hardly anything is lost.
    var isAmple: Bool {
        Double(linkEstimate.bitsPerSecond) >= Double(configuration.maximum.bitsPerSecond) * Self.ample
            && queue.delay < StandingQueue.harmless && detector.usage != .overused
            && loss.smoothed ?? 0 < Self.ampleLoss
    }
    /// What the link loses at any rate.
    var ownLoss: Double { loss.inherent }
    /// Whether a queue stands on the link.
    var hasQueue: Bool { queue.delay > StandingQueue.limit }
    /// Smoothed over some seconds: a sample has as few as twenty packets.
    var smoothedLoss: Double { loss.smoothed ?? 0 }
    var usage: LinkUsage { detector.usage }

    /// Starts probing: the connection is up.
    ///
    /// - Parameters:
    ///   - handshake: how long the DTLS handshake took, if known.
    ///   - shown: what the handshake has shown of a thin link, in bit/s.
    mutating func start(at now: Instant, handshake: Duration? = nil, shown: Double? = nil) {
        guard usesFeedback else { return }
        if started == nil {
            started = now
            awaitsFirstProbe = handshake.map { $0 > Self.quickHandshake } ?? true
            if let shown { delay.limit(to: shown) }
            self.shown = shown
        }
        probes.start(rate: delay.rate, at: now)
        nextCheck = now + .milliseconds(250)
    }

    /// Ends the wait for the first probe: none could be sent, so none will be answered.
    mutating func cannotProbe() { awaitsFirstProbe = false }

    /// Until when the link is reserved for the first probe; nil: it is not.
    var quietUntil: Instant? {
        guard awaitsFirstProbe, let started else { return nil }
        return started + (lastFeedback == nil ? Self.firstProbeTimeUnheard : Self.firstProbeTime)
    }

    /// Records a packet that leaves; returns its transport-wide sequence number.
    @discardableResult
    mutating func packetSent(size: Int, cluster: Int?, at now: Instant) -> SequenceNumber {
        limit.sent(size: size, estimate: delay.rate, at: now)
        return history.sent(size: size, cluster: cluster, at: now)
    }

    /// Excludes a number from the measurement: its packet was sent again under the old number, so reports about it mean
    /// nothing.
    mutating func disregard(_ number: SequenceNumber) { history.disregard(number) }

    /// The number that the next packet will carry.
    var nextSequence: SequenceNumber { history.nextSequence }

    mutating func nextProbe() -> ProbeCluster? {
        guard let cluster = probes.take() else { return nil }
        probeEstimator.began(cluster)
        return cluster
    }
    var hasProbe: Bool { !probes.pending.isEmpty }

    /// Takes the arrivals that the peer's transport-wide feedback reports.
    mutating func receive(_ report: ArrivalReport, at now: Instant) {
        let results = history.apply(report)
        guard !results.isEmpty else { return }
        // Losses while the link was dead say nothing about what it carries.
        var lostInSilence = 0
        if let lastFeedback, now - lastFeedback > max(roundTrip * 2, Self.gapLimit) {
            grouping.reset()
            trendline.reset()
            detector.reset()
            lostInSilence = results.firstIndex { $0.arrival != nil } ?? results.count
        }
        lastFeedback = now
        lastFade = nil
        if let old = beforeSilence {
            beforeSilence = nil
            probes.returned(to: old, from: delay.rate, at: now)
        }
        let before = delay.rate
        var lost = 0
        var newestArrived: PacketResult?
        var probed: (cluster: Int, rate: Double)?
        var usage: LinkUsage?
        var through: Double?
        for result in results {
            guard let arrival = result.arrival else {
                lost += 1
                continue
            }
            newestArrived = result
            acknowledged.add(size: result.size, arrival: arrival, applicationLimited: limit.isLimited)
            busy.add(size: result.size, arrival: arrival)
            queue.add(size: result.size, sent: result.sent, arrival: arrival)
            if let delta = grouping.add(sent: result.sent, arrival: arrival) {
                let change = delta.arrival - delta.send
                jitter += ((change < .zero ? .zero - change : change) - jitter) / 16
                let trend = trendline.update(delta)
                let state = detector.update(trend: trend, sendDelta: delta.send, at: now)
                if usage != .overused { usage = state }
                if state == .overused, let burst = busy.rate { through = max(through ?? burst, burst) }
            }
            if let measured = probeEstimator.add(result, fastest: queue.fastestWay, ownLoss: loss.inherent) {
                probed = measured
            }
        }
        if let newestArrived, !hasRoundTrip {
            roundTrip = min(max(now - newestArrived.sent, .milliseconds(1)), .seconds(2))
        }
        let isStanding = queue.endReport(rate: delay.rate, at: now)
        if usage == .overused, queue.delay < StandingQueue.harmless { usage = .normal }
        if isStanding { usage = .overused }
        if let probed { take(probed.rate, cluster: probed.cluster, isOverused: usage == .overused, at: now) }
        if let acknowledged = acknowledged.rate { through = max(through ?? acknowledged, acknowledged) }
        let cut = delay.update(
            usage: usage ?? (detector.usage == .overused ? .normal : detector.usage), acknowledged: through,
            isLimited: limit.isLimited, roundTrip: roundTrip, at: now)
        // A long queue is to drain, not just to stop growing; when it is empty again, the rate returns to what passed
        // the queue.
        if cut, queue.delay > Self.longQueue, let through {
            delay.limit(to: max(through * Self.drain, before * Self.drain))
        }
        if cut, queue.delay > StandingQueue.limit, let through {
            drained = (min(through, before) * Self.afterDrain, now)
        } else if let target = drained, queue.delay < StandingQueue.harmless {
            drained = nil
            if now - target.since < Self.drainTime, target.rate > delay.rate { delay.probed(target.rate) }
        }
        let current = min(delay.rate, loss.ceiling ?? .infinity)
        loss.report(
            expected: results.count - lostInSilence, lost: lost - lostInSilence, current: current,
            acknowledged: acknowledged.rate, roundTrip: roundTrip,
            isQueued: hasQueue, at: now)
        if let ceiling = loss.ceiling, ceiling < delay.rate {
            delay.limit(to: max(ceiling, acknowledged.rate ?? ceiling))
        }
        if cut { probes.dropped(from: before, to: delay.rate, at: now) }
    }

    /// Takes the rate that a probe measured.
    private mutating func take(_ measured: Double, cluster: Int, isOverused: Bool, at now: Instant) {
        awaitsFirstProbe = false
        if let shown, measured > shown * Self.refuted {
            // The link is not thin: the call begins as others do.
            self.shown = nil
            delay.probed(max(measured, Double(configuration.start.bitsPerSecond)))
            probes.restart(rate: delay.rate, at: now)
            return
        }
        if !isOverused, measured > delay.rate {
            delay.probed(measured)
        } else if let started, now - started < Self.startPhase, measured < delay.rate, probes.isFirst {
            // The first probe of all met an empty link, so it measured the link. Later probes share it, and one that
            // did not fit does not prove that less than the present rate fits …
            delay.probed(measured)
        }
        loss.probed(measured)
        probes.jitter = jitter
        if let borne = probes.measured(measured, cluster: cluster, estimate: delay.rate, at: now), limit.isLimited {
            // … unless two in a row found far less than an estimate which nothing has tested since.
            delay.limit(to: max(borne, acknowledged.rate ?? 0))
        }
    }

    /// Takes REMB, the receiver's limit or estimate: a cap, and the only guidance when the peer sends no feedback.
    ///
    /// - Parameter sent: the rate of the streams that it covers; nil: it covers all.
    mutating func receive(receiverLimit rate: BitRate, about sent: BitRate? = nil, at now: Instant) {
        let remb = Double(max(rate.bitsPerSecond, 1000))
        guard !usesFeedback else {
            receiverLimit = remb
            boundProbes()
            return
        }
        lastFeedback = now
        // A limit below our floor is obeyed too.
        receiverLimit = remb < Double(configuration.minimum.bitsPerSecond) ? remb : nil
        limit.advance(estimate: delay.rate, to: now)
        let measured = sent.map { Double($0.bitsPerSecond) } ?? limit.sentRate
        delay.probed(
            follower.receive(
                remb, sent: measured, beside: sent == nil ? 0 : max(0, limit.sentRate - measured), rate: delay.rate,
                at: now))
    }

    /// The most that the peer accepts by its description and its temporary limit, in bits per second.
    private var peerLimit: Double {
        func rate(_ limit: BitRate?) -> Double { limit.map { Double($0.bitsPerSecond) } ?? .infinity }
        return min(rate(describedLimit), rate(temporaryLimit))
    }

    private mutating func boundProbes() {
        probes.ceiling = min(Double(configuration.maximum.bitsPerSecond), peerLimit, receiverLimit ?? .infinity)
    }

    /// Records a packet that leaves without a transport-wide number.
    mutating func packetSent(unnumbered size: Int, at now: Instant) {
        limit.sent(size: size, estimate: delay.rate, at: now)
    }

    /// Takes a receiver report's loss: only for peers without transport-wide feedback.
    mutating func receive(lossOf lost: Int, expected: Int, at now: Instant) {
        guard !usesFeedback, expected > 0 else { return }
        lastFeedback = now
        limit.advance(estimate: delay.rate, to: now)
        delay.probed(
            follower.report(lost: lost, expected: expected, sent: limit.sentRate, rate: delay.rate, at: now))
    }

    /// Takes a round trip, and which of our sender reports showed it.
    mutating func receive(roundTrip sample: Duration, of report: UInt32, at now: Instant) {
        let bounded = min(max(sample, .microseconds(500)), .seconds(5))
        if !usesFeedback { follower.add(roundTrip: bounded, of: report, at: now) }
        roundTrip = hasRoundTrip ? (roundTrip * 7 + bounded) / 8 : bounded
        hasRoundTrip = true
    }

    var nextDeadline: Instant? { nextCheck }

    mutating func advance(to now: Instant) {
        guard let check = nextCheck, now >= check else { return }
        nextCheck = now + .milliseconds(250)
        limit.advance(estimate: delay.rate, to: now)
        let silence = history.oldestUnreported.map { now - $0 } ?? .zero
        if silence < Self.freezeAfter {
            probes.jitter = jitter
            probes.advance(
                estimate: delay.rate, isFree: detector.usage != .overused && queue.delay < StandingQueue.harmless * 2,
                isUntested: limit.isLimited, to: now)
        } else if lastFeedback == nil, silence > Self.firstAnswer, now - (lastFade ?? .distantPast) >= Self.freezeAfter
        {
            // No report ever came: the start rate is too much for this link, in one direction or both.
            lastFade = now
            delay.limit(to: delay.rate * 0.5)
        } else if silence > Self.fadeAfter, lastFeedback != nil, now - (lastFade ?? .distantPast) >= .seconds(1) {
            lastFade = now
            beforeSilence = beforeSilence ?? delay.rate
            delay.limit(to: delay.rate * Self.fade)
        }
    }
}
