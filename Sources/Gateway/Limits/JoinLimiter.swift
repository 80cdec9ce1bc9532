import Basics
import Conference
import Threads

/// How often somebody may join: counted by who they are, where a token says so, else by address.
///
/// A join waits in line for up to two seconds. Behind an address that many share, those who come at once then all get
/// in, one after the other; and one who asks again and again only ever has one place in the line, since its connection
/// waits with it.
final class JoinLimiter: Sendable {
    /// What is to be done with a join.
    enum Verdict: Equatable, Sendable {
        /// Now, or after this time.
        case enter(after: Duration)
        case refuse(retryAfter: Duration)
    }

    /// A join does not wait longer: people give up, and so do programs.
    static let patience = Duration.seconds(2)
    /// Joins of one address that came to nothing: so many at once, and a second. Beyond them the answer comes late.
    private static let failureBurst = 100.0
    private static let failureRate = 10.0
    /// How late.
    static let failureDelay = Duration.seconds(2)

    private let identities: BucketTable<String>
    private let addresses: BucketTable<IPAddress>
    private let failures: BucketTable<IPAddress>

    /// - Parameter joinsPerSecond: per address or identity; twice as many may come at once, and as many again wait in
    ///   line.
    init(joinsPerSecond: Int, at now: Instant) {
        let rate = Double(joinsPerSecond)
        identities = BucketTable(rate: rate, burst: rate * 2, at: now)
        addresses = BucketTable(rate: rate, burst: rate * 2, at: now)
        failures = BucketTable(rate: JoinLimiter.failureRate, burst: JoinLimiter.failureBurst, at: now)
    }

    /// - Parameter client: with the identity of a token that was verified, or none.
    func admit(_ client: JoinClient, at now: Instant) -> Verdict {
        let (wait, isTaken) =
            if let identity = client.identity {
                identities.queue(identity, patience: JoinLimiter.patience, at: now)
            } else {
                // An IPv6 customer has a whole /64.
                addresses.queue(client.address?.clientPrefix ?? .v4(0), patience: JoinLimiter.patience, at: now)
            }
        return isTaken ? .enter(after: wait) : .refuse(retryAfter: wait)
    }

    /// Waits for the client's turn.
    ///
    /// - Throws: `too_fast` if that would be too long.
    private func wait(for client: JoinClient) async throws(Refusal) {
        switch admit(client, at: MonotonicClock.now()) {
        case .enter(let wait):
            if wait > .zero { try? await Task.sleep(for: wait) }
        case .refuse(let wait):
            throw Refusal(.tooFast, "too many joins from here", retryAfter: wait)
        }
    }

    /// Counts a join that was refused, for its token or its room. Returns how long its answer should be kept back:
    /// whoever guesses tokens waits, and nobody else of that address does.
    func delay(afterFailureOf client: JoinClient, at now: Instant) -> Duration {
        failures.take(client.address?.clientPrefix ?? .v4(0), at: now) == .zero ? .zero : JoinLimiter.failureDelay
    }

    /// Joins when it is the client's turn. A join that leads to no seat takes nothing from others of the address.
    ///
    /// - Parameters:
    ///   - look: verifies the token; says for whom the join counts.
    ///   - join: takes the seat.
    func join<Value>(
        _ request: JoinRequest, look: () async throws -> JoinRequest, join: (JoinRequest) async throws -> Value
    ) async throws -> Value {
        var admitted = request
        do {
            admitted = try await look()
            try await wait(for: admitted.client)
        } catch {
            await hold(error, request)
            throw error
        }
        do {
            return try await join(admitted)
        } catch {
            giveBack(admitted.client, at: MonotonicClock.now())
            await hold(error, request)
            throw error
        }
    }

    private func hold(_ error: any Error, _ request: JoinRequest) async {
        // One that has only come too early did no harm.
        if Refusal(any: error).code == .tooFast { return }
        let delay = delay(afterFailureOf: request.client, at: MonotonicClock.now())
        if delay > .zero { try? await Task.sleep(for: delay) }
    }

    private func giveBack(_ client: JoinClient, at now: Instant) {
        if let identity = client.identity {
            identities.giveBack(identity, at: now)
        } else {
            addresses.giveBack(client.address?.clientPrefix ?? .v4(0), at: now)
        }
    }
}
