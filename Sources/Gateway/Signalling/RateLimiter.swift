import Basics
import Synchronization

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
        let key = address?.clientPrefix ?? .v4(0)
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
