import Basics

/// A token bucket for each client of many.
final class BucketTable<Key: Hashable & Sendable>: Sendable {
    /// Keys beyond these share one bucket, so that nobody can fill the memory with keys.
    private static var maxKeys: Int { 10_000 }

    private struct State {
        var buckets: [Key: TokenBucket] = [:]
        var shared: TokenBucket
    }

    private let rate: Double
    private let burst: Double
    private let state: Guarded<State>

    /// - Parameters:
    ///   - rate: a second, in the long run.
    ///   - burst: at once.
    init(rate: Double, burst: Double, at now: Instant) {
        self.rate = rate
        self.burst = burst
        state = Guarded(State(shared: TokenBucket(rate: rate, size: burst, at: now)))
    }

    /// Takes one of `key`'s tokens. zero: there was one. More: there will be one then, and none was taken.
    func take(_ key: Key, at now: Instant) -> Duration {
        with(key, at: now) { bucket in bucket.take(at: now) ? .zero : bucket.wait(at: now) }
    }

    /// Takes one of `key`'s tokens, or the next one that comes: whoever asked waits for it. Longer than `patience`,
    /// nothing is taken.
    func queue(_ key: Key, patience: Duration, at now: Instant) -> (wait: Duration, isTaken: Bool) {
        with(key, at: now) { bucket in
            let wait = bucket.wait(at: now)
            guard wait <= patience else { return (wait, false) }
            bucket.spend(1, at: now)
            return (wait, true)
        }
    }

    /// Gives back what `queue` took and was no use.
    func giveBack(_ key: Key, at now: Instant) {
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
