import Basics

/// A ceiling that falls while many packets are lost and is lifted when few are.
///
/// draft-ietf-rmcat-gcc-02 §6, with libwebrtc's intervals (`send_side_bandwidth_estimation.cc`).
struct LossBasedController: Sendable {
    static let highLoss = 0.10
    static let lowLoss = 0.02
    /// This much above the link's own loss only the acknowledged rate is a measure.
    static let floodLoss = 0.30
    /// A sample of few packets may miss the link's own loss by chance: so many standard deviations above it say nothing.
    static let chance = 1.5
    static let growth = 0.08
    /// The time between cuts is at least this and a round trip.
    static let cutInterval: Duration = .milliseconds(300)
    /// Low loss for this long lifts the ceiling.
    static let recovery: Duration = .seconds(3)
    /// No reaction before this: the first packets' loss says little.
    static let grace: Duration = .seconds(2)
    /// Fewer packets than these are no sample.
    static let leastPackets = 20
    /// Nor is a shorter time: losses come in bursts, and one burst does not describe the link.
    static let leastTime: Duration = .milliseconds(500)

    /// The lowest smoothed loss within this time is the link's own: a radio link loses packets at any rate, and a lower
    /// rate does not help.
    static let inherentWindow: Duration = .seconds(10)
    /// Where less than this part of the earlier rate is sent and more than that part of the earlier loss is left, a lower
    /// rate does not help: the loss is the link's own.
    static let lessSent = 0.7
    static let noLessLoss = 0.7
    /// Weight of a new sample in the smoothing.
    static let smoothing = 0.25

    private(set) var smoothed: Double?
    private var wasSettled = false
    /// In millionths: the sliding minimum holds whole numbers.
    private var leastLoss = SlidingMinimum()
    /// What was sent, in bit/s, and what was lost of it, when the cuts began.
    private var cutsSince: (sent: Double, loss: Double)?
    private var started: Instant?
    private var cut: Instant?
    private var cleanSince: Instant?
    private var updated: Instant?
    private var sampleStart: Instant?
    private var expected = 0
    private var lost = 0
    /// bit/s; nil when loss sets no limit.
    private(set) var ceiling: Double?
    /// Loss of the last full sample.
    private(set) var fraction = 0.0

    /// The part that the link loses at any rate, as far as the last seconds tell.
    var inherent: Double { Double(leastLoss.value ?? 0) / 1e6 }

    /// Adds one report; `current` is the estimate in force. `isQueued`: a queue stands on the link.
    mutating func report(
        expected newExpected: Int, lost newLost: Int, current: Double, acknowledged: Double?, roundTrip: Duration,
        isQueued: Bool = false, at now: Instant
    ) {
        let start = started ?? now
        started = start
        expected += newExpected
        lost += newLost
        let opened = sampleStart ?? now
        sampleStart = opened
        guard expected >= Self.leastPackets, now - opened >= Self.leastTime else { return }
        sampleStart = nil
        let sample = Double(max(lost, 0)) / Double(expected)
        let packets = Double(expected)
        fraction = sample
        expected = 0
        lost = 0
        // What the handshake and the start rate have made a full queue drop says nothing of later.
        let isSettled = now - start >= Self.grace
        let mean = (isSettled == wasSettled ? smoothed : nil).map { $0 + (sample - $0) * Self.smoothing } ?? sample
        smoothed = mean
        wasSettled = isSettled
        let inherent = self.inherent
        // What a full queue drops is not the link's own loss.
        if isSettled, !isQueued {
            leastLoss.insert(Int64(saturating: mean * 1e6), at: now, window: Self.inherentWindow)
        }
        let sent = acknowledged.map { $0 / max(1 - mean, 0.1) }
        if !isQueued, let since = cutsSince, let sent, sent < since.sent * Self.lessSent,
            mean > since.loss * Self.noLessLoss
        {
            leastLoss = SlidingMinimum()
            leastLoss.insert(Int64(saturating: mean * 1e6), at: now, window: Self.inherentWindow)
            (ceiling, cutsSince) = (nil, nil)
            return
        }
        let elapsed = updated.map { min((now - $0).inSeconds, 1) } ?? 0
        updated = now
        let above = sample - inherent
        if above > Self.floodLoss, let acknowledged, acknowledged < current,
            now - (cut ?? .distantPast) >= Self.cutInterval
        {
            noteCut(sent, sample, at: now)
            ceiling = max(acknowledged, current * 0.5)
            cleanSince = nil
            return
        }
        guard isSettled else { return }
        if above > Self.highLoss + Self.chance * (inherent * (1 - inherent) / packets).squareRoot() {
            if let cut, now - cut < Self.cutInterval + roundTrip { return }
            noteCut(sent, sample, at: now)
            ceiling = min(ceiling ?? current, current) * (1 - 0.5 * above)
            cleanSince = nil
        } else if min(sample, mean) - inherent < Self.lowLoss, let old = ceiling {
            let clean = cleanSince ?? now
            cleanSince = clean
            // The link has recovered: from here on the delay alone decides how fast to grow.
            let hasRecovered = now - clean >= Self.recovery
            if hasRecovered { cutsSince = nil }
            ceiling = hasRecovered ? nil : old * (1 + Self.growth * elapsed) + 1000 * elapsed
        } else {
            cleanSince = nil
        }
    }

    private mutating func noteCut(_ sent: Double?, _ sample: Double, at now: Instant) {
        cut = now
        if cutsSince == nil, let sent { cutsSince = (sent, sample) }
    }

    /// A probe got through at this rate.
    mutating func probed(_ measured: Double) {
        if let old = ceiling, measured > old { ceiling = measured }
    }
}
