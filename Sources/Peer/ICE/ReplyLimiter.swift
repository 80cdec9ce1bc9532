import Basics

/// How often each source is answered: spoofed requests must not make us flood someone else.
struct ReplyLimiter: Sendable {
    private struct Bucket: Sendable {
        var tokens: Double
        var at: Instant
    }

    private var buckets: [SocketAddress: Bucket] = [:]
    private let perSecond: Double
    /// Sources remembered; beyond it the longest silent is forgotten.
    private static let sourceLimit = 64

    init(perSecond: Double) {
        self.perSecond = perSecond
    }

    /// Whether one more reply to `source` is within its rate; a second's worth may come at once.
    mutating func allows(_ source: SocketAddress, at now: Instant) -> Bool {
        var bucket = buckets[source] ?? Bucket(tokens: perSecond, at: now)
        bucket.tokens = min(perSecond, bucket.tokens + max(0, (now - bucket.at).inSeconds) * perSecond)
        bucket.at = now
        let allowed = bucket.tokens >= 1
        if allowed { bucket.tokens -= 1 }
        if buckets[source] == nil, buckets.count >= Self.sourceLimit,
            let oldest = buckets.min(by: { $0.value.at < $1.value.at })?.key
        {
            buckets[oldest] = nil
        }
        buckets[source] = bucket
        return allowed
    }
}
