import Basics

/// The remaining allowance of one seat. A value.
struct SeatAllowance: Sendable {
    /// Created at the first use: most seats use two or three of them.
    private var buckets: [RatedRequest: TokenBucket] = [:]

    /// Takes one request of the allowance, or throws with the time to wait.
    mutating func take(_ request: RatedRequest, at now: Instant) throws(ConferenceError) {
        let (rate, size) = request.allowance
        var bucket = buckets[request] ?? TokenBucket(rate: rate, size: size, at: now)
        defer { buckets[request] = bucket }
        if bucket.take(at: now) { return }
        throw .tooFast("Too many \(request.plural): try again in a moment.", retryAfter: bucket.wait(at: now))
    }
}
