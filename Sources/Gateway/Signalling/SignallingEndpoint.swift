import Basics
import Conference
import Foundation
import Logging
import Threads

/// The native door: `/signal`. Joins its state machine with a WebSocket and the conference.
final class SignallingEndpoint: Sendable {
    private let conference: any ConferenceService
    private let authorizer: JoinAuthorizer
    private let iceServers: ICEServers
    private let limiter: JoinLimiter
    private let statistics: GatewayMetrics
    private let limits: TesseraConfiguration.Limits
    private let logger: Logger
    /// Which connection holds a seat: one that was resumed elsewhere is no longer the old connection's to lose.
    private let holders = Guarded<[String: UInt64]>([:])
    private let open = Guarded<(next: UInt64, talks: [UInt64: SignallingConnection])>((0, [:]))

    /// Reading no further for a moment is what slows a sender down.
    private static let pause = Duration.milliseconds(200)

    init(
        conference: any ConferenceService, authorizer: JoinAuthorizer, iceServers: ICEServers, limiter: JoinLimiter,
        statistics: GatewayMetrics,
        limits: TesseraConfiguration.Limits, logger: Logger
    ) {
        self.conference = conference
        self.authorizer = authorizer
        self.iceServers = iceServers
        self.limiter = limiter
        self.statistics = statistics
        self.limits = limits
        self.logger = logger
    }

    /// Serves one client until its connection ends.
    func serve(_ connection: WebSocketConnection) async {
        statistics.connectionOpened()
        defer { statistics.connectionClosed() }
        let (id, talk) = open.withLock { open in
            let id = open.next
            open.next += 1
            let talk = SignallingConnection(
                id: id, connection: connection, session: SignallingSession(sdpLimit: limits.sdpBytes),
                budget: SignallingBudget(messageBytes: limits.messageBytes, at: MonotonicClock.now()))
            open.talks[id] = talk
            return (id, talk)
        }
        await connection.run { [self] message in await take(message, talk) }
        await perform(talk.step { $0.disconnected() }, talk)
        if let seat = talk.takeSeat() { _ = giveUp(seat, talk) }
        _ = open.withLock { $0.talks.removeValue(forKey: id) }
    }

    private func take(_ message: WebSocketConnection.Message, _ talk: SignallingConnection) async {
        let verdict = talk.spend {
            $0.received(bytes: message.count, isInside: talk.seat != nil, at: MonotonicClock.now())
        }
        guard verdict == .take else {
            statistics.countMessage(isBad: true)
            await hold(verdict, talk)
            return
        }
        let actions =
            switch message {
            case .text(let text): talk.step { $0.received(text) }
            case .binary: talk.step { $0.receivedBinary() }
            }
        statistics.countMessage(isBad: actions.isBadMessage)
        await perform(actions, talk)
        if actions.isBadMessage, let verdict = talk.spend({ $0.wasBad(at: MonotonicClock.now()) }) {
            await hold(verdict, talk)
        }
    }

    /// Tells a client that it asks too much.
    private func hold(_ verdict: SignallingBudget.Verdict, _ talk: SignallingConnection) async {
        switch verdict {
        case .take: return
        case .refuse(let error): await perform(talk.step { $0.failed(error) }, talk)
        case .end(let error): await perform(talk.step { $0.exhausted(error) }, talk)
        }
        try? await Task.sleep(for: SignallingEndpoint.pause)
    }

    /// Ends the connections of all who are in no room.
    func drain() {
        let talks = open.withLock { Array($0.talks.values) }
        for talk in talks { _ = talk.step { $0.drained() } }
    }

    // MARK: What the session wants done

    private func perform(_ actions: [SignallingSession.Action], _ talk: SignallingConnection) async {
        for action in actions {
            switch action {
            // Sent and closed by the talk itself, in one order with what the conference reports.
            case .send, .close: break
            case .join(let request, let asksRole, let token):
                await join(request, asksRole: asksRole, token: token, talk)
            case .resume(let claim): await resume(claim, talk)
            case .seat(let request): await ask(request, talk)
            case .leave:
                guard let seat = talk.takeSeat() else { continue }
                _ = giveUp(seat, talk)
                seat.leave(.left)
            case .lost: await lose(talk)
            }
        }
    }

    private func join(_ request: JoinRequest, asksRole: Bool, token: String?, _ talk: SignallingConnection) async {
        var request = request
        request.client.address = talk.connection.handshake.remote
        do {
            let pause = talk.spend { $0.join(at: MonotonicClock.now()) }
            guard pause == .zero else {
                throw Refusal(.tooFast, "one join a second on a connection", retryAfter: pause)
            }
            let (seat, admitted) = try await limiter.join(request) { [request] in
                try await authorizer.admit(request, asksRole: asksRole, token: token)
            } join: { admitted in
                (try conference.seat(admitted) { [weak talk] event in _ = talk?.step { $0.happened(event) } }, admitted)
            }
            await take(seat, Welcome(seat, admitted), talk)
        } catch {
            let error = Refusal(any: error)
            statistics.refused(error, request)
            // The client may try again on this connection, but not for ever.
            if talk.spend({ $0.joinFailed() }) {
                await perform(talk.step { $0.exhausted(error) }, talk)
            } else {
                await perform(talk.step { $0.refused(error, wasResume: false) }, talk)
            }
        }
    }

    private func resume(_ claim: ResumeClaim, _ talk: SignallingConnection) async {
        do {
            let pause = talk.spend { $0.join(at: MonotonicClock.now()) }
            guard pause == .zero else {
                throw Refusal(.tooFast, "one join a second on a connection", retryAfter: pause)
            }
            let seat = try conference.seat(resuming: claim) { [weak talk] event in _ = talk?.step { $0.happened(event) }
            }
            await take(seat, Welcome(seat, nil), talk)
        } catch {
            await perform(talk.step { $0.refused(Refusal(any: error), wasResume: true) }, talk)
        }
    }

    private func take(_ seat: any ConferenceSeat, _ welcome: Welcome, _ talk: SignallingConnection) async {
        talk.take(seat)
        talk.connection.settle()
        let before = holders.withLock { $0.updateValue(talk.id, forKey: seat.id) }
        // The connection that held the seat until now, if it still stands, is told and has nothing more to say in the
        // room.
        if let before, before != talk.id, let old = open.withLock({ $0.talks[before] }) {
            _ = old.takeSeat()
            _ = old.step { $0.happened(SharedEvent(.left(.replaced))) }
        }
        let servers = iceServers.entries(for: seat.id, now: Int(Date().timeIntervalSince1970))
        await perform(talk.step { $0.seated(welcome, iceServers: servers) }, talk)
    }

    private func ask(_ request: SignallingSession.SeatRequest, _ talk: SignallingConnection) async {
        guard let seat = talk.seat else { return }
        do {
            switch request {
            case .offer(let sdp):
                let pause = talk.spend { $0.offer(at: MonotonicClock.now()) }
                guard pause == .zero else { throw Refusal(.tooFast, "too many offers", retryAfter: pause) }
                let answer = try await seat.offer(sdp)
                await perform(talk.step { $0.answered(answer.text) }, talk)
            case .candidate(let line): seat.addCandidate(line)
            case .state(let audio, let video, let hand): try seat.setState(audio: audio, video: video, hand: hand)
            case .layout(let name, let scope, let pins):
                try seat.setLayout(name ?? seat.layout, scope: scope, pins: pins)
            case .present(let on): try seat.present(on)
            case .chat(let text, let to): try seat.chat(text, to: to)
            case .record(let action): try await seat.record(action)
            }
        } catch {
            await perform(talk.step { $0.failed(Refusal(any: error)) }, talk)
        }
    }

    private func lose(_ talk: SignallingConnection) async {
        guard let seat = talk.takeSeat() else { return }
        if giveUp(seat, talk) { seat.signallingLost() }
    }

    /// Forgets who holds the seat; false if another connection does by now.
    private func giveUp(_ seat: any ConferenceSeat, _ talk: SignallingConnection) -> Bool {
        holders.withLock { holders in
            guard holders[seat.id] == talk.id else { return false }
            holders[seat.id] = nil
            return true
        }
    }
}

/// One connection's session behind its lock. What it has to say is queued on the connection while the lock is held, so
/// that answers and events leave in the order in which they became true.
final class SignallingConnection: Sendable {
    let id: UInt64
    let connection: WebSocketConnection
    private let session: Guarded<SignallingSession>
    private let place = Guarded<(any ConferenceSeat)?>(nil)
    private let budget: Guarded<SignallingBudget>

    init(id: UInt64, connection: WebSocketConnection, session: SignallingSession, budget: SignallingBudget) {
        self.id = id
        self.connection = connection
        self.session = Guarded(session)
        self.budget = Guarded(budget)
    }

    func spend<Result: Sendable>(_ body: (inout SignallingBudget) -> Result) -> Result { budget.withLock { body(&$0) } }

    var seat: (any ConferenceSeat)? { place.withLock { $0 } }

    func take(_ seat: any ConferenceSeat) { place.withLock { $0 = seat } }

    func takeSeat() -> (any ConferenceSeat)? {
        place.withLock { place in
            defer { place = nil }
            return place
        }
    }

    /// Runs a step of the session and sends what it says; the rest is for the caller.
    func step(_ step: (inout SignallingSession) -> [SignallingSession.Action]) -> [SignallingSession.Action] {
        session.withLock { session in
            let actions = step(&session)
            for action in actions {
                switch action {
                case .send(let message):
                    connection.send(message.bytes, message.state, whole: message.whole.map { whole in { whole.bytes } })
                case .close(let code, let reason): connection.close(code.rawValue, reason)
                default: break
                }
            }
            return actions
        }
    }
}

extension [SignallingSession.Action] {
    fileprivate var isBadMessage: Bool {
        contains {
            if case .send(.error(let error, fatal: _)) = $0 { error.code.signalled == .badMessage } else { false }
        }
    }
}
