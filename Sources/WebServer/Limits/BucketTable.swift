package import Basics

/// Token buckets of many clients, one for each key.
package final class BucketTable<Key: Hashable & Sendable>: Sendable {
    /// The most keys with buckets of their own; further keys share one bucket, so that clients cannot fill the memory.
    private static var maxKeys: Int { 10_000 }

    private struct State {
        var buckets: [Key: TokenBucket] = [:]
        var shared: TokenBucket
    }

    private let rate: Double
    private let burst: Double
    private let maxDebt: Double
    private let state: Guarded<State>

    /// - Parameters:
    ///   - rate: tokens a second.
    ///   - burst: the most tokens at once.
    ///   - maxDebt: the most tokens that `queue` gives ahead of their time; nil: `burst`.
    package init(rate: Double, burst: Double, maxDebt: Double? = nil, at now: Instant) {
        self.rate = rate
        self.burst = burst
        self.maxDebt = maxDebt ?? burst
        state = Guarded(State(shared: TokenBucket(rate: rate, size: burst, at: now)))
    }

    /// Takes one of `key`'s tokens and returns zero, or returns the time until there is one and takes none.
    package func take(_ key: Key, at now: Instant) -> Duration {
        with(key, at: now) { bucket in bucket.take(at: now) ? .zero : bucket.wait(at: now) }
    }

    /// Takes one of `key`'s tokens, or the next one, for which the caller has to wait. Takes none where that wait
    /// exceeds `maximumWait`.
    package func queue(_ key: Key, maximumWait: Duration, at now: Instant) -> (wait: Duration, isTaken: Bool) {
        with(key, at: now) { bucket in
            let wait = bucket.wait(at: now)
            guard wait <= maximumWait else { return (wait, false) }
            bucket.spend(1, maxDebt: maxDebt, at: now)
            return (wait, true)
        }
    }

    /// Returns a token that `queue` took and the caller did not need.
    package func refund(_ key: Key, at now: Instant) {
        with(key, at: now) { bucket in _ = bucket.spend(-1, at: now) }
    }

    private func with<Result>(_ key: Key, at now: Instant, _ body: (inout TokenBucket) -> Result) -> Result {
        state.withLock { state in
            if var bucket = state.buckets[key] {
                defer { state.buckets[key] = bucket }
                return body(&bucket)
            }
            if state.buckets.count >= BucketTable.maxKeys {
                state.buckets = state.buckets.filter { !$0.value.isFull(at: now) }
            }
            guard state.buckets.count < BucketTable.maxKeys else { return body(&state.shared) }
            var bucket = TokenBucket(rate: rate, size: burst, at: now)
            defer { state.buckets[key] = bucket }
            return body(&bucket)
        }
    }
}
