import Basics

/// Lets bytes out evenly: a debt that time pays off.
struct Pacer: Sendable {
    /// A little above the estimate, so that a queue drains (str0m). libwebrtc's 2.5 would put most of a keyframe into
    /// the link's own queue, where audio waits behind it and the delay reads as overuse.
    static let factor = 1.1
    /// Nothing above it where the link carries little more than a voice: what exceeds it waits on the link before the
    /// audio, and pushes the last packets of a picture, which comes once in seconds, out of the link's queue.
    static let thinLink = BitRate.kilobits(100)
    static func factor(at rate: BitRate) -> Double { rate < thinLink ? 1 : factor }
    /// No finer than this.
    static let tick: Duration = .milliseconds(5)
    /// What may leave at once after a pause: an ordinary frame of a stream well below the estimate. What is larger, a
    /// keyframe above all, is spread (libwebrtc: 40 ms).
    static let burst: Duration = .milliseconds(10)
    /// The same on a link that carries all that we have for it and more: a frame of the top rendition, which there
    /// waits for nothing but the pacer.
    static let ampleBurst: Duration = .milliseconds(30)
    /// A debt is never longer than this, so that a dip of the rate does not silence us.
    static let longestDebt: Duration = .milliseconds(200)

    private var debt = 0.0
    private var updated: Instant?
    var rate: BitRate
    /// The link is not what limits us.
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

    /// When something may leave again.
    func nextSend(after now: Instant) -> Instant {
        guard debt > 0 else { return now }
        let wait = Duration.nanoseconds(Int64(saturating: debt / bytesPerSecond * 1e9).saturatingAdding(1))
        return (updated ?? now) + max(wait, Self.tick)
    }
}
