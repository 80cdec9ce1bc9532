package import Basics
package import Conference
package import Streaming
import Threads
package import WebServer

/// Lets the clients of all families into rooms: checks their tokens, makes them wait for their turn, and counts.
package final class JoinService: Sendable {
    package let conference: ConferenceServices
    private let authorizer: JoinAuthorizer
    private let limiter: JoinLimiter
    private let pins: PINLimiter
    private let hostKeys = HostKeyLimiter()
    private let statistics: JoinCounts
    private let allowsLegacyDTLS: Bool

    /// - Parameter allowsLegacyDTLS: `doors.legacyDTLS`.
    package init(
        _ conference: ConferenceServices, authorizer: JoinAuthorizer, limiter: JoinLimiter,
        statistics: JoinCounts, allowsLegacyDTLS: Bool
    ) {
        self.allowsLegacyDTLS = allowsLegacyDTLS
        self.conference = conference
        pins = PINLimiter(report: { [conference] room, wrong in
            conference.seats.reportPINTries(at: room, wrong: wrong)
        })
        self.authorizer = authorizer
        self.limiter = limiter
        self.statistics = statistics
    }

    /// Whether clients need tokens (`auth.mode: token`).
    package var needsTokens: Bool { authorizer.verifier != nil }

    /// The request of another family's client, whose role nothing proves but a token.
    package func request(room: String, name: String, from address: IPAddress?) -> JoinRequest {
        var request = JoinRequest(room: room, name: name)
        request.client.address = address
        request.media.allowsLegacyDTLS = allowsLegacyDTLS
        return request
    }

    /// The PIN in a family's field for tokens: where tokens mean nothing, a PIN is what people put there.
    package func pin(inToken token: String?) -> String? { needsTokens ? nil : token }

    /// Joins a client of another family when it is its turn; where a moderator has to let it in, waits for that. The wait
    /// ends with the task that waits.
    ///
    /// - Parameters:
    ///   - request: with the client's address.
    ///   - waits: called where the client begins to wait.
    ///   - events: called in order, on a thread of the conference, which it must not block; the first call may come
    ///     before this returns.
    package func joinWhenLetIn(
        _ request: JoinRequest, as family: ClientFamily, token: String?, waits: @Sendable () -> Void = {},
        events: @escaping @Sendable (SharedEvent) -> Void
    ) async throws(Refusal) -> any ConferenceSeat {
        var request = request
        request.pin = request.pin ?? pin(inToken: token)
        let (ends, end) = AsyncStream<WaitingEnd>.makeStream()
        let outcome = try await joinOrWait(request, as: family, asksRole: false, token: token, events: events) {
            end.yield($0)
            end.finish()
        }
        switch outcome {
        case .seated(let seat, _): return seat
        case .waits(let id, let admitted):
            waits()
            // The stream has one value, which always comes: at the latest when the wait is stopped. Its task is none of
            // this one's, whose end would end the stream before.
            let decision = Task { await ends.first { _ in true } ?? .left }
            let end = await withTaskCancellationHandler {
                await decision.value
            } onCancel: { [conference] in
                conference.seats.stopWaiting(id, in: admitted.room)
            }
            if let refusal = Refusal(end) {
                // Who gives up has not been refused.
                if end != .left { statistics.refused(refusal, admitted.request, family) }
                throw refusal
            }
            return try join(admitted, after: id, as: family, events: events)
        }
    }

    /// The result of a join of a client that can wait.
    package enum Outcome: Sendable {
        /// With the request as admitted.
        case seated(any ConferenceSeat, AdmittedJoin)
        /// A moderator has to let the client in; the id is the wait's.
        case waits(String, AdmittedJoin)

        /// Whether the client has joined as a moderator.
        var isOfHost: Bool { if case .seated(let seat, _) = self { seat.info?.role == .moderator } else { false } }
    }

    /// Joins when it is the client's turn, or begins to wait to be let in. The request comes back as admitted: with the
    /// name and the role of the token.
    ///
    /// - Parameter decided: called once where the client waits, on a thread of the conference; the call may come before
    ///   this returns.
    package func joinOrWait(
        _ request: JoinRequest, as family: ClientFamily, asksRole: Bool, token: String?,
        events: @escaping @Sendable (SharedEvent) -> Void, decided: @escaping @Sendable (WaitingEnd) -> Void
    ) async throws(Refusal) -> Outcome {
        try await enter(request, as: family, isIn: { if case .seated = $0 { true } else { false } }) { [authorizer] in
            try authorizer.admit(request, asksRole: asksRole, token: token)
        } join: { [conference, hostKeys] admitted in
            try await hostKeys.join(admitted, isRight: { $0.isOfHost }) {
                (admitted: AdmittedJoin) async throws -> Outcome in
                do throws(ConferenceError) {
                    return .seated(try conference.seats.seat(admitted, events: events), admitted)
                } catch {
                    guard case .mustWait = error else { throw error }
                    return .waits(try conference.seats.wait(for: admitted, decided), admitted)
                }
            }
        }
    }

    /// Joins after a wait that ended well: the client had its turn when it began to wait.
    package func join(
        _ request: AdmittedJoin, after wait: String, as family: ClientFamily,
        events: @escaping @Sendable (SharedEvent) -> Void
    ) throws(Refusal) -> any ConferenceSeat {
        var request = request
        request.admission = wait
        do {
            let seat = try conference.seats.seat(request, events: events)
            statistics.joined(family)
            return seat
        } catch {
            let refusal = Refusal(error)
            statistics.refused(refusal, request.request, family)
            throw refusal
        }
    }

    /// Joins when it is the client's turn, with checks and a seat of the caller's.
    ///
    /// - Parameters:
    ///   - isIn: whether a value of `join` is that of a client that is in, which counts as a join.
    ///   - verify: checks the request; the name and the client that it returns are the join's.
    package func enter<Value>(
        _ request: JoinRequest, as family: ClientFamily, isIn: (Value) -> Bool = { _ in true },
        verify: () async throws -> AdmittedJoin,
        join: (AdmittedJoin) async throws -> Value
    ) async throws(Refusal) -> Value {
        do {
            let value = try await limiter.join(request, verify: verify) { [pins] admitted in
                try await pins.join(admitted, join)
            }
            if isIn(value) { statistics.joined(family) }
            return value
        } catch {
            let refusal = Refusal(any: error)
            statistics.refused(refusal, request, family)
            throw refusal
        }
    }

    package var samples: [MetricSample] { pins.samples + hostKeys.samples }

    /// The claims of a valid token; nil for any other, and where clients need none.
    package func claims(of token: String) -> TokenClaims? { try? authorizer.verifier?.verify(token) }

    /// The stream of a room for players of HLS, who hold no seat; nil where the room has none.
    ///
    /// - Parameter isNew: whether the player begins.
    package func watch(_ request: JoinRequest, isNew: Bool, token: String?) async throws(Refusal) -> HLSStream? {
        do {
            let admitted = try authorizer.admit(request, asksRole: false, token: token)
            return try await pins.join(admitted) { [conference] request in
                try conference.streams.hls(request, isNew: isNew)
            }
        } catch {
            throw Refusal(any: error)
        }
    }

    /// The same for who has shown the administrator's token.
    package func watchAsAdministrator(_ request: JoinRequest, isNew: Bool) throws(ConferenceError) -> HLSStream? {
        try conference.streams.hls(JoinAuthorizer.admitAdministrator(request), isNew: isNew)
    }

    /// Checks a token for a room without taking a seat: for what a client may do there before its call.
    package func admit(_ request: JoinRequest, asksRole: Bool = false, token: String?) throws(Refusal) -> AdmittedJoin {
        try authorizer.admit(request, asksRole: asksRole, token: token)
    }
}
