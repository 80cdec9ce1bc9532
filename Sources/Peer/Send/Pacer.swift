import Basics

/// Spreads packets over time: what is sent becomes a debt, which time pays off.
struct Pacer: Sendable {
    /// A little above the estimate, so that a queue drains (as in str0m). libwebrtc's 2.5 would put most of a keyframe
    /// into the link's own queue, where audio waits behind it and the delay reads as overuse.
    static let factor = 1.1
    /// On a link that carries little more than speech the pacer does not exceed the estimate: the excess would wait on
    /// the link before the audio, and push the last packets of a still out of the link's queue.
    static let thinLink = BitRate.kilobits(100)
    /// On a link that carries nothing but speech and a still now and then the estimate is right to a third only: what
    /// exceeds the link pushes speech out of its queue.
    static let thinnestLink = BitRate.kilobits(34)
    static let thinnestFactor = 0.7
    static let leastRate = BitRate.kilobits(24)
    /// The rate at which packets leave on a link of this estimate.
    static func rate(at estimate: BitRate) -> BitRate {
        if estimate < thinnestLink { return max(estimate * thinnestFactor, leastRate) }
        return estimate < thinLink ? estimate : estimate * factor
    }
    /// The shortest wait.
    static let tick: Duration = .milliseconds(5)
    /// The most that may leave at once after a pause: an ordinary frame of a stream well below the estimate. Larger
    /// frames, mainly keyframes, are spread (libwebrtc: 40 ms).
    static let burst: Duration = .milliseconds(10)
    /// The same on a link that carries the configured maximum and more: a frame of the top rendition, which only the
    /// pacer would delay there.
    static let ampleBurst: Duration = .milliseconds(30)
    /// The longest debt, so that a dip of the rate does not stop sending.
    static let longestDebt: Duration = .milliseconds(200)

    private var debt = 0.0
    private var updated: Instant?
    var rate: BitRate
    /// Whether the link carries the configured maximum.
    var isAmple = false

    init(rate: BitRate) {
        self.rate = rate
    }

    private var bytesPerSecond: Double { max(Double(rate.bitsPerSecond), 10_000) / 8 }

    mutating func advance(to now: Instant) {
        let elapsed = updated.map { (now - $0).inSeconds } ?? 0
        updated = max(updated ?? now, now)
        guard elapsed > 0 else { return }
        debt -= elapsed * bytesPerSecond
        debt = max(debt, -bytesPerSecond * (isAmple ? Self.ampleBurst : Self.burst).inSeconds)
    }

    var maySend: Bool { debt <= 0 }

    mutating func sent(_ bytes: Int) {
        debt = min(debt + Double(bytes), bytesPerSecond * Self.longestDebt.inSeconds)
    }

    /// The earliest time at which a packet may leave again.
    func nextSend(after now: Instant) -> Instant {
        guard debt > 0 else { return now }
        let wait = Duration.nanoseconds(Int64(saturating: debt / bytesPerSecond * 1e9).saturatingAdding(1))
        return (updated ?? now) + max(wait, Self.tick)
    }
}
