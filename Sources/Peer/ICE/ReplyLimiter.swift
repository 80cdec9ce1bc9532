import Basics

/// Limits the replies to each source: spoofed requests must not make us flood a third party.
struct ReplyLimiter: Sendable {
    private var buckets: [SocketAddress: (bucket: TokenBucket, lastAsked: Instant)] = [:]
    private let perSecond: Double
    /// The most sources that are remembered; beyond it the one that was silent for the longest is forgotten.
    private static let sourceLimit = 64

    init(perSecond: Double) {
        self.perSecond = perSecond
    }

    /// Whether one more reply to `source` is within its rate; the replies of one second may be sent at once.
    mutating func allows(_ source: SocketAddress, at now: Instant) -> Bool {
        if buckets[source] == nil, buckets.count >= Self.sourceLimit,
            let oldest = buckets.min(by: { $0.value.lastAsked < $1.value.lastAsked })?.key
        {
            buckets[oldest] = nil
        }
        var bucket = buckets[source]?.bucket ?? TokenBucket(rate: perSecond, size: perSecond, at: now)
        let isAllowed = bucket.take(at: now)
        buckets[source] = (bucket, now)
        return isAllowed
    }
}
