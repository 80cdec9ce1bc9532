import Basics

/// Bounds and start of the estimate of what a peer's line carries.
public struct BandwidthEstimatorConfiguration: Sendable {
    /// Before anything was measured.
    public var start: BitRate = .kilobits(300)
    /// The estimate never falls below this.
    public var minimum: BitRate = .kilobits(30)
    /// The dearest rendition and some room to repair it.
    public var maximum: BitRate = .megabits(5)

    /// The usual bounds.
    public init() {}
}

/// How much one peer's line carries of what we send: Google congestion control over transport-wide feedback, REMB and
/// reports without it.
///
/// A value without clock or I/O: packets that leave and reports that arrive go in, an estimate and probes come out.
struct BandwidthEstimator: Sendable {
    /// A report gap longer than two round trips, at least this, restarts the delay trend (str0m).
    static let gapLimit: Duration = .milliseconds(500)
    /// With packets out and no report for this long, nothing grows …
    static let freezeAfter: Duration = .milliseconds(500)
    /// … and from here the estimate shrinks by a fifth each second.
    static let fadeAfter: Duration = .seconds(2)
    static let fade = 0.8
    /// The first report should not take longer.
    static let firstAnswer: Duration = .seconds(1)
    /// So long after the start the first probe may take the estimate down.
    static let startPhase: Duration = .seconds(3)
    /// Until the first probe is answered, at most so long, it has the line for itself but for the sound: a picture sent
    /// meanwhile fills a thin line's queue, and with it goes the answer. A good line answers within a round trip and
    /// the peer's interval of reports …
    static let firstProbeTime: Duration = .milliseconds(600)
    /// … unless the handshake, some 3 kB back and forth with the certificates, took no longer than this: no thin line
    /// does that …
    static let quickHandshake: Duration = .milliseconds(150)
    /// … and where nothing at all was heard by then the way is long or both directions are full.
    static let firstProbeTimeUnheard: Duration = .milliseconds(1500)
    /// A queue longer than this is drained: a third of the line's rate is left for that.
    static let longQueue: Duration = .milliseconds(200)
    static let drain = 0.7
    /// Of what a standing queue let through, where to go on once it is empty; a drain that takes longer shows nothing.
    static let afterDrain = 0.9
    static let drainTime: Duration = .seconds(4)
    /// From this part of the most that would be of use the line is not what limits us.
    static let ample = 0.95
    /// Where more than this is lost a frame is not sent in one piece: a burst of losses would take all of it.
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
    private var delay: DelayBasedController
    private var loss = LossBasedController()
    private var limit = ApplicationLimit()
    private var probes: ProbeController
    private var probeEstimator = ProbeEstimator()
    private var receiverLimit: Double?
    /// What the peer's description takes at most (`b=`), all kinds together; nil: it does not say.
    var describedLimit: BitRate? { didSet { boundProbes() } }
    /// What the peer takes at most for now (RFC 5104 §4.2.1), all kinds together; nil: it does not say.
    var temporaryLimit: BitRate? { didSet { boundProbes() } }
    private var lastFeedback: Instant?
    private var lastFade: Instant?
    /// The estimate before reports stayed away.
    private var beforeSilence: Double?
    /// Of the groups' arrivals, in the mean.
    private var jitter = Duration.zero
    private var nextCheck: Instant?
    private let configuration: BandwidthEstimatorConfiguration
    /// Smoothed; from receiver reports or, without them, from feedback.
    private(set) var roundTrip: Duration = .milliseconds(100)
    private var hasRoundTrip = false
    /// For a peer without transport-wide feedback.
    private var follower = ReceiverFollower()
    /// Transport-wide feedback was heard, or is expected.
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

    /// What may be sent now.
    var estimate: BitRate {
        // A receiver's own wish may lie below our floor.
        let wished = min(receiverLimit ?? .infinity, peerLimit)
        guard wished < Double(linkEstimate.bitsPerSecond) else { return linkEstimate }
        return BitRate(bitsPerSecond: Int(saturating: wished))
    }

    /// What the line carries, whatever the receiver wishes to have of it.
    var linkEstimate: BitRate {
        let value = min(delay.rate, loss.ceiling ?? .infinity)
        return BitRate(bitsPerSecond: Int(saturating: max(value, Double(configuration.minimum.bitsPerSecond))))
    }
    /// The line carries all that would be of use, nothing waits on it, and hardly anything is lost.
    var isAmple: Bool {
        Double(linkEstimate.bitsPerSecond) >= Double(configuration.maximum.bitsPerSecond) * Self.ample
            && queue.delay < StandingQueue.harmless && detector.usage != .overused
            && loss.smoothed ?? 0 < Self.ampleLoss
    }
    var lossFraction: Double { loss.fraction }
    var usage: LinkUsage { detector.usage }

    /// The line is up: the first probes may go.
    ///
    /// - Parameter handshake: how long that of DTLS took, where it is known.
    mutating func start(at now: Instant, handshake: Duration? = nil) {
        guard usesFeedback else { return }
        if started == nil {
            started = now
            awaitsFirstProbe = handshake.map { $0 > Self.quickHandshake } ?? true
        }
        probes.start(rate: delay.rate, at: now)
        nextCheck = now + .milliseconds(250)
    }

    /// No probe could be sent: nothing answers.
    mutating func cannotProbe() { awaitsFirstProbe = false }

    /// When the line is no longer left to the first probe; nil: it is not.
    var quietUntil: Instant? {
        guard awaitsFirstProbe, let started else { return nil }
        return started + (lastFeedback == nil ? Self.firstProbeTimeUnheard : Self.firstProbeTime)
    }

    /// Notes a packet that leaves; its transport-wide sequence number.
    @discardableResult
    mutating func packetSent(size: Int, cluster: Int?, at now: Instant) -> SequenceNumber {
        limit.sent(size: size, estimate: delay.rate, at: now)
        return history.sent(size: size, cluster: cluster, at: now)
    }

    /// A packet was sent again under its old number: reports about it mean nothing.
    mutating func disregard(_ number: SequenceNumber) { history.disregard(number) }

    /// The number that the next packet will carry.
    var nextSequence: SequenceNumber { history.nextSequence }

    mutating func nextProbe() -> ProbeCluster? {
        guard let cluster = probes.take() else { return nil }
        probeEstimator.began(cluster)
        return cluster
    }
    var hasProbe: Bool { !probes.pending.isEmpty }

    /// Takes what the peer's transport-wide feedback says about arrivals.
    mutating func receive(_ report: ArrivalReport, at now: Instant) {
        let results = history.apply(report)
        guard !results.isEmpty else { return }
        // What was lost while the line was dead says nothing of how much it bears.
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
            queue.add(sent: result.sent, arrival: arrival)
            if let delta = grouping.add(sent: result.sent, arrival: arrival) {
                let change = delta.arrival - delta.send
                jitter += ((change < .zero ? .zero - change : change) - jitter) / 16
                let trend = trendline.update(delta)
                let state = detector.update(trend: trend, sendDelta: delta.send, at: now)
                if usage != .overused { usage = state }
                if state == .overused, let burst = busy.rate { through = max(through ?? burst, burst) }
            }
            if let measured = probeEstimator.add(result, fastest: queue.fastestWay) { probed = measured }
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
        // A long queue is to drain, not just to stop growing; when it is empty again, the rate goes back to what the
        // queue showed.
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
            acknowledged: acknowledged.rate, roundTrip: roundTrip, at: now)
        if let ceiling = loss.ceiling, ceiling < delay.rate {
            delay.limit(to: max(ceiling, acknowledged.rate ?? ceiling))
        }
        if cut { probes.dropped(from: before, to: delay.rate, at: now) }
    }

    /// What a burst measured.
    private mutating func take(_ measured: Double, cluster: Int, isOverused: Bool, at now: Instant) {
        awaitsFirstProbe = false
        if !isOverused, measured > delay.rate {
            delay.probed(measured)
        } else if let started, now - started < Self.startPhase, measured < delay.rate, probes.isFirst {
            // The first burst of all met an empty line: what it measured is the line. Later ones share it, and one that
            // did not fit is no proof that less fits than already does …
            delay.probed(measured)
        }
        loss.probed(measured)
        probes.jitter = jitter
        if let borne = probes.measured(measured, cluster: cluster, estimate: delay.rate, at: now), limit.isLimited {
            // … unless two in a row found far less than an estimate which nothing has tested since.
            delay.limit(to: max(borne, acknowledged.rate ?? 0))
        }
    }

    /// The receiver's own wish or estimate (REMB): a cap, and all the guidance there is when the peer sends no
    /// feedback.
    ///
    /// - Parameter sent: what leaves of the streams that it is about; nil: all do.
    mutating func receive(receiverLimit rate: BitRate, about sent: BitRate? = nil, at now: Instant) {
        let told = Double(max(rate.bitsPerSecond, 1000))
        guard !usesFeedback else {
            receiverLimit = told
            boundProbes()
            return
        }
        lastFeedback = now
        // A wish below our floor is obeyed too.
        receiverLimit = told < Double(configuration.minimum.bitsPerSecond) ? told : nil
        limit.advance(estimate: delay.rate, to: now)
        let measured = sent.map { Double($0.bitsPerSecond) } ?? limit.sentRate
        delay.probed(
            follower.receive(
                told, sent: measured, beside: sent == nil ? 0 : max(0, limit.sentRate - measured), rate: delay.rate,
                at: now))
    }

    /// What the peer said that it takes at most, in bits per second.
    private var peerLimit: Double {
        func rate(_ limit: BitRate?) -> Double { limit.map { Double($0.bitsPerSecond) } ?? .infinity }
        return min(rate(describedLimit), rate(temporaryLimit))
    }

    private mutating func boundProbes() {
        probes.ceiling = min(Double(configuration.maximum.bitsPerSecond), peerLimit, receiverLimit ?? .infinity)
    }

    /// A packet that leaves without a transport-wide number.
    mutating func packetSent(unnumbered size: Int, at now: Instant) {
        limit.sent(size: size, estimate: delay.rate, at: now)
    }

    /// A receiver report's loss: only for peers without transport-wide feedback.
    mutating func receive(lossOf lost: Int, expected: Int, at now: Instant) {
        guard !usesFeedback, expected > 0 else { return }
        lastFeedback = now
        limit.advance(estimate: delay.rate, to: now)
        delay.probed(
            follower.report(lost: lost, expected: expected, sent: limit.sentRate, rate: delay.rate, at: now))
    }

    /// A round trip, and which of our sender reports showed it.
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
            // Nothing was ever heard: the start is too much for this line, in one direction or both.
            lastFade = now
            delay.limit(to: delay.rate * 0.5)
        } else if silence > Self.fadeAfter, lastFeedback != nil, now - (lastFade ?? .distantPast) >= .seconds(1) {
            lastFade = now
            beforeSilence = beforeSilence ?? delay.rate
            delay.limit(to: delay.rate * Self.fade)
        }
    }
}
