import Basics
import Conference
import Threads

/// Limits wrong PINs by address and room: who tries PINs is refused, right or wrong, until a try is allowed again.
final class PINLimiter: Sendable {
    private struct Key: Hashable {
        var address: IPAddress
        var room: String
    }

    /// Wrong PINs at once, and a second: people mistype, a thousand tries take three hours.
    private static let burst = 10.0
    private static let rate = 0.1

    private let tries: BucketTable<Key>

    init(at now: Instant) { tries = BucketTable(rate: Self.rate, burst: Self.burst, at: now) }

    /// Joins; a join with a wrong PIN counts. One without a PIN tells nothing, and is not limited.
    func join<Value>(_ request: JoinRequest, _ join: (JoinRequest) async throws -> Value) async throws -> Value {
        guard request.pin?.isEmpty == false else { return try await join(request) }
        let key = Key(address: request.client.address?.clientPrefix ?? .v4(0), room: request.room)
        // Taken before the try, so that tries at the same time count too.
        let wait = tries.take(key, at: MonotonicClock.now())
        guard wait == .zero else { throw Refusal(.tooFast, "too many wrong PINs from here", retryAfter: wait) }
        do {
            let value = try await join(request)
            tries.refund(key, at: MonotonicClock.now())
            return value
        } catch {
            if Refusal(any: error).code != .wrongPIN { tries.refund(key, at: MonotonicClock.now()) }
            throw error
        }
    }
}
