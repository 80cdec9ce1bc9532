import Basics

/// Additive increase and multiplicative decrease, driven by the delay.
///
/// draft-ietf-rmcat-gcc-02 §5.5; libwebrtc `aimd_rate_control.cc`.
struct DelayBasedController: Sendable {
    static let backOff = 0.85
    /// One cut lowers the rate to no less than this part of it: the acknowledged rate lags behind the link.
    static let deepestCut = 0.6
    /// A cut lowers the rate at least to this part of it, however fast the packets arrived: there were too many of
    /// them.
    static let leastCut = 0.97
    /// Growth per second, far from the known capacity.
    static let growth = 1.08
    /// Near the known capacity: one average packet per response time, at least this many bit/s per second, and no
    /// faster than far from it.
    static let leastAdditive = 4000.0
    static let fullPacketBits = 1200.0 * 8
    static let framesPerSecond = 30.0
    /// The rate stays within this factor and offset (bit/s) of the acknowledged rate.
    static let headroom = (factor: 1.5, offset: 10_000.0)

    private enum State { case hold, increase, decrease }

    private var state = State.hold
    private var capacity = LinkCapacity()
    private var updated: Instant?
    private var decreased: Instant?
    /// bit/s
    private(set) var rate: Double
    private let range: ClosedRange<Double>

    init(start: Double, range: ClosedRange<Double>) {
        rate = start
        self.range = range
    }

    /// - Returns: whether the rate was cut.
    ///
    /// - Parameter isLimited: little is sent: the acknowledged rate raises the rate up to the headroom above it; only a
    ///   probe raises it further.
    mutating func update(
        usage: LinkUsage, acknowledged: Double?, isLimited: Bool = false, roundTrip: Duration, at now: Instant
    ) -> Bool {
        let elapsed = updated.map { min((now - $0).inSeconds, 1) } ?? 0
        updated = now
        switch (usage, state) {
        case (.overused, _):
            guard mayDecrease(acknowledged: acknowledged, roundTrip: roundTrip, at: now) else { return false }
            state = .decrease
        case (.underused, _): state = .hold
        case (.normal, .hold): state = .increase
        case (.normal, _): break
        }
        switch state {
        case .hold: return false
        case .increase:
            increase(acknowledged: acknowledged, isLimited: isLimited, roundTrip: roundTrip, elapsed: elapsed)
            return false
        case .decrease:
            decrease(acknowledged: acknowledged)
            decreased = now
            state = .hold
            return true
        }
    }

    /// Sets the rate that a probe measured.
    mutating func probed(_ measured: Double) {
        rate = clamp(measured)
        capacity.reset()
    }

    /// Lowers the rate for another reason (loss, missing reports).
    mutating func limit(to limit: Double) {
        rate = clamp(min(rate, limit))
    }

    /// Whether enough time has passed since the last cut: a queue takes a round trip to drain, and a second cut would
    /// answer the same cause twice.
    private func mayDecrease(acknowledged: Double?, roundTrip: Duration, at now: Instant) -> Bool {
        guard let decreased else { return true }
        let wait = min(max(roundTrip, .milliseconds(10)), .milliseconds(200))
        if now - decreased >= wait { return true }
        if let acknowledged { return acknowledged < rate / 2 }
        return false
    }

    private mutating func increase(acknowledged: Double?, isLimited: Bool, roundTrip: Duration, elapsed: Double) {
        // Without an acknowledged rate little traffic proves nothing.
        if isLimited, acknowledged == nil { return }
        if let acknowledged, let known = capacity.range, acknowledged > known.upperBound { capacity.reset() }
        var next = rate
        if capacity.isKnown {
            let response = roundTrip.inSeconds + 0.1
            // A frame of a thin link is a small packet (libwebrtc `GetNearMaxIncreaseRateBpsPerSecond`).
            let frame = rate / Self.framesPerSecond
            let packet = frame / (frame / Self.fullPacketBits).rounded(.up)
            next += max(Self.leastAdditive, min(packet / response, (Self.growth - 1) * rate)) * elapsed
        } else {
            var factor = 1.0
            // 1.08^t for t up to a second, without a libm call: the exact power differs by less than 0.3 %.
            factor += (Self.growth - 1) * elapsed
            next = max(rate * factor, rate + 1000 * elapsed)
        }
        if let acknowledged {
            let ceiling = Self.headroom.factor * acknowledged + Self.headroom.offset
            next = max(rate, min(next, ceiling))
        }
        rate = clamp(next)
    }

    private mutating func decrease(acknowledged: Double?) {
        guard let acknowledged else {
            rate = clamp(rate * Self.backOff)
            return
        }
        var next = acknowledged * Self.backOff
        if next > rate, let known = capacity.rate { next = known * Self.backOff }
        if let known = capacity.range, acknowledged < known.lowerBound { capacity.reset() }
        capacity.overused(at: acknowledged)
        rate = clamp(min(max(next, rate * Self.deepestCut), rate * Self.leastCut))
    }

    private func clamp(_ value: Double) -> Double {
        min(max(value, range.lowerBound), range.upperBound)
    }
}
