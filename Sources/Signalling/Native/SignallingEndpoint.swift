package import Admission
import Basics
import Conference
import FoundationEssentials
package import Logging
package import Settings
import Threads
package import WebServer

/// The native endpoint `/signal`: connects the state machine of each client with its WebSocket and the conference.
package final class SignallingEndpoint: Sendable {
    private let joins: JoinService
    private let iceServers: ICEServers
    private let statistics: JoinCounts
    private let limits: TesseraConfiguration.Limits
    private let logger: Logger
    /// The connection that holds each seat: after a resume on another connection, the end of the old one does not
    /// affect the seat.
    private let holders = Guarded<[String: UInt64]>([:])
    private let clients = OpenClients<SignallingConnection>()

    /// The pause of reading that slows down a client above its limits.
    private static let pause = Duration.milliseconds(200)

    package init(
        _ joins: JoinService, iceServers: ICEServers, statistics: JoinCounts,
        limits: TesseraConfiguration.Limits, logger: Logger
    ) {
        self.joins = joins
        self.iceServers = iceServers
        self.statistics = statistics
        self.limits = limits
        self.logger = logger
    }

    /// Serves one client until its connection ends.
    package func serve(_ connection: WebSocketConnection) async {
        statistics.connectionOpened()
        defer { statistics.connectionClosed() }
        let client = clients.add { number in
            SignallingConnection(
                id: number, connection: connection, session: SignallingSession(sdpLimit: limits.sdpBytes),
                budget: SignallingBudget(messageBytes: limits.messageBytes, at: MonotonicClock.now()))
        }
        await connection.run { [self] message in await receive(message, client) }
        await perform(client.step { $0.disconnected() }, client)
        if let seat = client.takeSeat() { _ = release(seat, client) }
        clients.remove(client.id)
    }

    private func receive(_ message: WebSocketConnection.Message, _ client: SignallingConnection) async {
        let verdict = client.spend {
            $0.received(bytes: message.count, isInside: client.seat != nil, at: MonotonicClock.now())
        }
        guard verdict == .take else {
            statistics.countMessage(isBad: true)
            await reject(verdict, client)
            return
        }
        let actions =
            switch message {
            case .text(let text): client.step { $0.received(text) }
            case .binary: client.step { $0.receivedBinary() }
            }
        statistics.countMessage(isBad: actions.isBadMessage)
        await perform(actions, client)
        if actions.isBadMessage, let verdict = client.spend({ $0.countBadMessage(at: MonotonicClock.now()) }) {
            await reject(verdict, client)
        }
    }

    /// Sends the refusal of a message, and pauses reading.
    private func reject(_ verdict: SignallingBudget.Verdict, _ client: SignallingConnection) async {
        switch verdict {
        case .take: return
        case .refuse(let error): await perform(client.step { $0.failed(error) }, client)
        case .end(let error): await perform(client.step { $0.exhausted(error) }, client)
        }
        try? await Task.sleep(for: SignallingEndpoint.pause)
    }

    /// Ends the connections of all clients outside of rooms.
    package func drain() {
        for client in clients.all { _ = client.step { $0.drained() } }
    }

    // MARK: Actions of the session

    private func perform(_ actions: [SignallingSession.Action], _ client: SignallingConnection) async {
        for action in actions {
            switch action {
            // `SignallingConnection.step` has done these already, in one order with the conference's events.
            case .send, .close: break
            case .join(let request, let asksRole, let token):
                await join(request, asksRole: asksRole, token: token, client)
            case .resume(let claim): await resume(claim, client)
            case .stopWaiting:
                if let wait = client.takeWait() { joins.conference.seats.stopWaiting(wait.id, in: wait.room) }
            case .seat(let request): await handle(request, client)
            case .leave(let returns):
                guard let seat = client.takeSeat() else { continue }
                _ = release(seat, client)
                if returns { seat.mayReturn() }
                seat.leave(.left)
            case .lost: await loseSignalling(client)
            }
        }
    }

    private func join(_ request: JoinRequest, asksRole: Bool, token: String?, _ client: SignallingConnection) async {
        var request = request
        request.client.address = client.connection.handshake.remote
        do {
            let pause = client.spend { $0.join(at: MonotonicClock.now()) }
            guard pause == .zero else {
                throw Refusal(.tooFast, "one join a second on a connection", retryAfter: pause)
            }
            let (ends, end) = AsyncStream<WaitingEnd>.makeStream()
            let outcome = try await joins.joinOrWait(
                request, as: .native, asksRole: asksRole, token: token, events: events(of: client)
            ) {
                end.yield($0)
                end.finish()
            }
            switch outcome {
            case .seated(let seat, let admitted): await enter(seat, Welcome(seat, admitted), client)
            case .waits(let id, let admitted):
                client.take(AdmissionWait(id: id, room: admitted.room))
                client.connection.mayStayOutside()
                await perform(client.step { $0.mustWait() }, client)
                // The task ends with the wait, whose end always comes.
                Task { [weak self] in for await end in ends { await self?.waited(end, id, admitted, client) } }
            }
        } catch {
            let error = Refusal(any: error)
            // The client may try again on this connection, a limited number of times.
            if client.spend({ $0.countFailedJoin() }) {
                await perform(client.step { $0.exhausted(error) }, client)
            } else {
                await perform(client.step { $0.refused(error, wasResume: false) }, client)
            }
        }
    }

    private func events(of client: SignallingConnection) -> @Sendable (SharedEvent) -> Void {
        { [weak client] event in _ = client?.step { $0.handleEvent(event) } }
    }

    /// Goes on with a join whose wait has ended.
    private func waited(_ end: WaitingEnd, _ id: String, _ request: AdmittedJoin, _ client: SignallingConnection) async
    {
        _ = client.takeWait()
        await perform(client.step { $0.waited(end) }, client)
        guard end == .admitted, client.isJoining else { return }
        do {
            let seat = try joins.join(request, after: id, as: .native, events: events(of: client))
            await enter(seat, Welcome(seat, request), client)
        } catch {
            await perform(client.step { $0.refused(error, wasResume: false) }, client)
        }
    }

    private func resume(_ claim: ResumeClaim, _ client: SignallingConnection) async {
        do {
            let pause = client.spend { $0.join(at: MonotonicClock.now()) }
            guard pause == .zero else {
                throw Refusal(.tooFast, "one join a second on a connection", retryAfter: pause)
            }
            var claim = claim
            claim.client.address = client.connection.handshake.remote
            let seat = try joins.conference.seats.seat(resuming: claim, events: events(of: client))
            await enter(seat, Welcome(seat, nil), client)
        } catch {
            await perform(client.step { $0.refused(Refusal(any: error), wasResume: true) }, client)
        }
    }

    private func enter(_ seat: any ConferenceSeat, _ welcome: Welcome, _ client: SignallingConnection) async {
        client.take(seat)
        client.connection.wentInside()
        let before = holders.withLock { $0.updateValue(client.id, forKey: seat.id) }
        // The connection that held the seat until now, if it still exists, loses the seat and gets `left`.
        if let before, before != client.id, let old = clients[before] {
            _ = old.takeSeat()
            _ = old.step { $0.handleEvent(SharedEvent(.left(.replaced))) }
        }
        let servers = iceServers.entries(for: seat.id, now: Int(Date().timeIntervalSince1970))
        let answer = await answerJoin(seat, client)
        await perform(client.step { $0.seated(welcome, iceServers: servers, answer: answer) }, client)
    }

    /// Answers the offer that came with the join; nil: there was none, or it is refused. Then the client, which offers
    /// behind `joined`, is told why.
    private func answerJoin(_ seat: any ConferenceSeat, _ client: SignallingConnection) async -> String? {
        guard let offer = client.takeOffer(), client.spend({ $0.offer(at: MonotonicClock.now()) }) == .zero else {
            return nil
        }
        return try? await seat.offer(offer).text
    }

    private func handle(_ request: SignallingSession.SeatRequest, _ client: SignallingConnection) async {
        guard let seat = client.seat else { return }
        do {
            switch request {
            case .offer(let sdp):
                let pause = client.spend { $0.offer(at: MonotonicClock.now()) }
                guard pause == .zero else { throw Refusal(.tooFast, "too many offers", retryAfter: pause) }
                let answer = try await seat.offer(sdp)
                await perform(client.step { $0.answered(answer.text) }, client)
            case .candidate(let line): seat.addCandidate(line)
            case .state(let audio, let video, let hand): try seat.setState(audio: audio, video: video, hand: hand)
            case .layout(let name, let scope, let pins):
                try seat.setLayout(name, scope: scope, pins: pins)
            case .view(let name): try seat.setView(name)
            case .present(let on, let audio): try seat.present(on, audio: audio)
            case .recorded(let on): try seat.setRecorded(on)
            case .chat(let text, let to, let all): try seat.chat(text, to: to, all: all)
            case .record(let action, let id, let group): try await seat.record(action, id, group: group)
            case .mark(let text): try seat.mark(text)
            case .moderate(let moderation): try seat.moderate(moderation)
            case .breakout(let request): try seat.breakOut(request)
            case .room(let change): try seat.changeRoom(change)
            }
        } catch {
            var refusal = Refusal(any: error)
            if case .chat = request { refusal.subject = "chat" }
            await perform(client.step { [refusal] in $0.failed(refusal) }, client)
        }
    }

    private func loseSignalling(_ client: SignallingConnection) async {
        guard let seat = client.takeSeat() else { return }
        if release(seat, client) { seat.signallingLost() }
    }

    /// Releases the connection's hold on the seat. Returns false if another connection holds the seat by now.
    private func release(_ seat: any ConferenceSeat, _ client: SignallingConnection) -> Bool {
        holders.withLock { holders in
            guard holders[seat.id] == client.id else { return false }
            holders[seat.id] = nil
            return true
        }
    }
}

/// A client's wait to be let into a room.
struct AdmissionWait: Sendable {
    var id: String
    var room: String
}

/// One connection's session behind a lock. The session's messages are queued on the connection while the lock is held,
/// so that answers and events leave in the order in which they occurred.
final class SignallingConnection: Sendable {
    let id: UInt64
    let connection: WebSocketConnection
    private let session: Guarded<SignallingSession>
    private let heldSeat = Guarded<(any ConferenceSeat)?>(nil)
    private let wait = Guarded<AdmissionWait?>(nil)
    private let budget: Guarded<SignallingBudget>

    init(id: UInt64, connection: WebSocketConnection, session: SignallingSession, budget: SignallingBudget) {
        self.id = id
        self.connection = connection
        self.session = Guarded(session)
        self.budget = Guarded(budget)
    }

    func spend<Result: Sendable>(_ body: (inout SignallingBudget) -> Result) -> Result { budget.withLock { body(&$0) } }

    var seat: (any ConferenceSeat)? { heldSeat.withLock { $0 } }

    var isJoining: Bool { session.withLock { $0.isJoining } }
    func takeOffer() -> String? { session.withLock { $0.takeOffer() } }

    func take(_ wait: AdmissionWait) { self.wait.withLock { $0 = wait } }

    func takeWait() -> AdmissionWait? {
        wait.withLock { wait in
            defer { wait = nil }
            return wait
        }
    }

    func take(_ seat: any ConferenceSeat) { heldSeat.withLock { $0 = seat } }

    func takeSeat() -> (any ConferenceSeat)? {
        heldSeat.withLock { held in
            defer { held = nil }
            return held
        }
    }

    /// Runs a step of the session and sends its messages. Returns all actions; the caller performs the others.
    func step(_ step: (inout SignallingSession) -> [SignallingSession.Action]) -> [SignallingSession.Action] {
        session.withLock { session in
            let actions = step(&session)
            for action in actions {
                switch action {
                case .send(let message):
                    connection.send(
                        message.bytes, message.state, fullState: message.fullState.map { full in { full.bytes } })
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
