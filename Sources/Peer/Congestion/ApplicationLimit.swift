import Basics

/// Whether much less is sent than the estimate allows: then the acknowledged rate says nothing about what the link can
/// carry.
///
/// libwebrtc's ALR detector: an interval budget, here with a plain leaky average.
struct ApplicationLimit: Sendable {
    static let start = 0.65
    static let stop = 0.80
    /// Averaging time in seconds.
    static let window = 0.5

    private var average = 0.0
    private var updated: Instant?
    private(set) var since: Instant?

    var isLimited: Bool { since != nil }
    /// bit/s that were sent in the last half second.
    var sentRate: Double { average }

    mutating func sent(size: Int, estimate: Double, at now: Instant) {
        decay(to: now)
        average += Double(size) * 8 / Self.window
        judge(estimate: estimate, at: now)
    }

    mutating func advance(estimate: Double, to now: Instant) {
        decay(to: now)
        judge(estimate: estimate, at: now)
    }

    private mutating func decay(to now: Instant) {
        let start = updated ?? now
        updated = now
        let elapsed = (now - start).inSeconds
        guard elapsed > 0 else { return }
        // (1 - x/n)^n is near enough to e^-x and needs no libm.
        let x = min(elapsed / Self.window, 8)
        var factor = 1 - x / 16
        factor *= factor
        factor *= factor
        factor *= factor
        factor *= factor
        average *= max(0, factor)
    }

    private mutating func judge(estimate: Double, at now: Instant) {
        if average < Self.start * estimate {
            since = since ?? now
        } else if average > Self.stop * estimate {
            since = nil
        }
    }
}
