package import Basics
package import Conference
import Threads
import WebServer

/// Limits the rate of joins, by the identity of a verified token where there is one, otherwise by address.
///
/// A join waits in a queue for up to five seconds. Simultaneous joins behind a shared address then all succeed, one
/// after the other: with the default rate the thirty people of an office are in after four seconds. And a client that
/// joins again and again has only one place in the queue, since its connection waits with the join.
package final class JoinLimiter: Sendable {
    /// The decision about a join.
    package enum Verdict: Equatable, Sendable {
        /// The join may go on, now or after this time.
        case enter(after: Duration)
        case refuse(retryAfter: Duration)
    }

    /// The longest wait of a join. AppRTC's Android client, the most impatient one, gives a join up after 8 s.
    package static let maximumWait = Duration.seconds(5)
    /// Failed joins of one address, at once and a second. Beyond them the answer is delayed.
    private static let failureBurst = 100.0
    private static let failureRate = 10.0
    /// The delay of such an answer.
    static let failureDelay = Duration.seconds(2)

    private let identities: BucketTable<String>
    private let addresses: BucketTable<IPAddress>
    private let failures: BucketTable<IPAddress>

    /// - Parameter joinsPerSecond: for each address or identity; twice as many may come at once, and five times as many
    ///   wait in the queue.
    package init(joinsPerSecond: Int, at now: Instant) {
        let rate = Double(joinsPerSecond)
        let ahead = rate * JoinLimiter.maximumWait.inSeconds
        identities = BucketTable(rate: rate, burst: rate * 2, maxDebt: ahead, at: now)
        addresses = BucketTable(rate: rate, burst: rate * 2, maxDebt: ahead, at: now)
        failures = BucketTable(rate: JoinLimiter.failureRate, burst: JoinLimiter.failureBurst, at: now)
    }

    /// - Parameter client: with the identity of a verified token, or none.
    package func admit(_ client: JoinClient, at now: Instant) -> Verdict {
        let (wait, isTaken) =
            if let identity = client.identity {
                identities.queue(identity, maximumWait: JoinLimiter.maximumWait, at: now)
            } else {
                // An IPv6 customer has a whole /64.
                addresses.queue(client.address?.clientPrefix ?? .v4(0), maximumWait: JoinLimiter.maximumWait, at: now)
            }
        return isTaken ? .enter(after: wait) : .refuse(retryAfter: wait)
    }

    /// Waits for the client's turn.
    ///
    /// - Throws: `too_fast` if the wait would be too long.
    private func wait(for client: JoinClient) async throws(Refusal) {
        switch admit(client, at: MonotonicClock.now()) {
        case .enter(let wait):
            if wait > .zero { try? await Task.sleep(for: wait) }
        case .refuse(let wait):
            throw Refusal(.tooFast, "too many joins from here", retryAfter: wait)
        }
    }

    /// Counts a join that was refused for its token or its room. Returns the delay of its answer: a client that guesses
    /// tokens waits, without a delay for others of its address.
    package func delay(afterFailureOf client: JoinClient, at now: Instant) -> Duration {
        failures.take(client.address?.clientPrefix ?? .v4(0), at: now) == .zero ? .zero : JoinLimiter.failureDelay
    }

    /// Joins when it is the client's turn. A failed join takes nothing from others of the address.
    ///
    /// - Parameters:
    ///   - verify: verifies the token; returns the request with the client for which the join counts.
    ///   - join: takes the seat.
    package func join<Value>(
        _ request: JoinRequest, verify: () async throws -> AdmittedJoin, join: (AdmittedJoin) async throws -> Value
    ) async throws -> Value {
        let admitted: AdmittedJoin
        do {
            admitted = try await verify()
            try await wait(for: admitted.client)
        } catch {
            await delayFailure(error, request)
            throw error
        }
        do {
            return try await join(admitted)
        } catch {
            refund(admitted.client, at: MonotonicClock.now())
            await delayFailure(error, request)
            throw error
        }
    }

    private func delayFailure(_ error: any Error, _ request: JoinRequest) async {
        // A join that only came too early is no failure.
        if Refusal(any: error).code == .tooFast { return }
        let delay = delay(afterFailureOf: request.client, at: MonotonicClock.now())
        if delay > .zero { try? await Task.sleep(for: delay) }
    }

    private func refund(_ client: JoinClient, at now: Instant) {
        if let identity = client.identity {
            identities.refund(identity, at: now)
        } else {
            addresses.refund(client.address?.clientPrefix ?? .v4(0), at: now)
        }
    }
}
