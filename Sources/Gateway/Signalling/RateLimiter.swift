import Basics
import Synchronization

/// A bucket of tokens that refills steadily.
struct TokenBucket: Sendable {
    private let rate: Double
    private let size: Double
    private var tokens: Double
    private var last: Instant

    /// - Parameters:
    ///   - rate: tokens per second.
    ///   - size: how many can wait.
    init(rate: Double, size: Double, at now: Instant) {
        self.rate = rate
        self.size = size
        tokens = size
        last = now
    }

    /// Takes a token if there is one.
    mutating func take(at now: Instant) -> Bool {
        if now > last {
            tokens = min(size, tokens + (now - last).inSeconds * rate)
            last = now
        }
        guard tokens >= 1 else { return false }
        tokens -= 1
        return true
    }

    /// As good as new.
    func isFull(at now: Instant) -> Bool { tokens + max(0, (now - last).inSeconds) * rate >= size }
}

/// How often one address may join.
final class JoinLimiter: Sendable {
    /// Addresses beyond these share one bucket, so that nobody can fill the memory with addresses.
    private static let maxAddresses = 10_000

    private struct Table {
        var buckets: [IPAddress: TokenBucket] = [:]
        var shared: TokenBucket
    }

    private let rate: Double
    private let table: Mutex<Table>

    /// - Parameter joinsPerSecond: per address; twice as many may come at once.
    init(joinsPerSecond: Int, at now: Instant) {
        rate = Double(joinsPerSecond)
        table = Mutex(Table(shared: TokenBucket(rate: Double(joinsPerSecond), size: Double(joinsPerSecond) * 2, at: now)))
    }

    /// Whether one more join is fine.
    func allows(_ address: IPAddress?, at now: Instant) -> Bool {
        // An IPv6 customer has a whole /64.
        let key: IPAddress =
            switch address {
            case .v6(let high, _)?: .v6(high, 0)
            case let other?: other
            case nil: .v4(0)
            }
        return table.withLock { table in
            if var bucket = table.buckets[key] {
                defer { table.buckets[key] = bucket }
                return bucket.take(at: now)
            }
            if table.buckets.count >= JoinLimiter.maxAddresses {
                table.buckets = table.buckets.filter { !$0.value.isFull(at: now) }
            }
            guard table.buckets.count < JoinLimiter.maxAddresses else { return table.shared.take(at: now) }
            var bucket = TokenBucket(rate: rate, size: rate * 2, at: now)
            defer { table.buckets[key] = bucket }
            return bucket.take(at: now)
        }
    }
}
