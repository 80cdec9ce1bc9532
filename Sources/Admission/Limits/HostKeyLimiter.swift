import Basics
import Conference
import Threads
import WebServer

/// Limits joins with wrong host keys, by address and room. A key has 128 bits, which nobody finds by trying; the limit
/// keeps the tries from costing the server anything.
final class HostKeyLimiter: Sendable {
    private struct Key: Hashable {
        var address: IPAddress
        var room: String
    }

    /// Wrong keys of an address at once, and a second: pages may have keys of rooms that have other hosts by now.
    private static let burst = 20.0
    private static let rate = 0.1

    private let tries: BucketTable<Key>
    private let counts = Guarded((wrong: 0, refused: 0))
    private let clock: @Sendable () -> Instant

    init(clock: @escaping @Sendable () -> Instant = { MonotonicClock.now() }) {
        self.clock = clock
        tries = BucketTable(rate: Self.rate, burst: Self.burst, at: clock())
    }

    /// Joins; a join whose key is none of the room's counts. One without a key is not limited.
    ///
    /// - Parameter isRight: whether the key has made the client a host.
    func join<Value>(
        _ request: AdmittedJoin, isRight: (Value) -> Bool, _ join: (AdmittedJoin) async throws -> Value
    ) async throws -> Value {
        guard request.hostKey?.isEmpty == false else { return try await join(request) }
        let key = Key(address: (request.client.address ?? .v4(0)).clientPrefix, room: request.room)
        // Taken before the try, so that tries at the same time count too.
        let wait = tries.take(key, at: clock())
        guard wait == .zero else {
            counts.withLock { $0.refused += 1 }
            throw Refusal(.tooFast, "too many wrong host keys from here", retryAfter: wait)
        }
        let value = try await join(request)
        if isRight(value) {
            tries.refund(key, at: clock())
        } else {
            counts.withLock { $0.wrong += 1 }
        }
        return value
    }

    var samples: [MetricSample] {
        let (wrong, refused) = counts.withLock { $0 }
        return [
            MetricSample(
                "tessera_host_keys_wrong_total", "Joins with a host key that was none of the room's.", .counter,
                Double(wrong)),
            MetricSample(
                "tessera_host_keys_refused_total", "Joins that were refused for too many wrong host keys.", .counter,
                Double(refused)),
        ]
    }
}
