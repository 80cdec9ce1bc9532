import Admission
import Basics
import Conference
import Threads
import WebServer

/// One AppRTC client: its session behind a lock, with the seat, the WebSocket and the timer. Frames are queued on the
/// WebSocket while the lock is held, so that they leave in the order in which they occurred.
final class AppRTCClient: Sendable {
    /// The client's secret, of 128 random bits. AppRTC's room server gives eight digits; the clients take any text.
    let id: String
    let room: String
    /// The address from which the client joined.
    let address: IPAddress?
    /// The key of the client's `ice_server_url`, of 128 random bits.
    let key: String

    private struct State {
        var session = AppRTCSession()
        var seat: (any ConferenceSeat)?
        /// What the client sent while it waits to be let in: its newest offer, and candidates.
        var held: [AppRTCMessage] = []
        var connection: WebSocketConnection?
        var timer: (deadline: Instant, task: Task<Void, Never>)?
    }

    /// The most candidates that wait for the seat.
    private static let mostHeld = 64

    private let state = Guarded(State())
    let joining = JoinTask()
    /// Called once, when the session is over.
    private let onEnd: @Sendable (AppRTCClient) -> Void

    init(
        id: String, room: String, address: IPAddress?, key: String, onEnd: @escaping @Sendable (AppRTCClient) -> Void
    ) {
        self.id = id
        self.room = room
        self.address = address
        self.key = key
        self.onEnd = onEnd
    }

    /// The client's seat; nil before the join is complete and after the session's end.
    var seat: (any ConferenceSeat)? { state.withLock { $0.session.isOver ? nil : $0.seat } }

    /// The client waits to be let in.
    func waits() {
        state.withLock { state in
            state.session.accepted(at: MonotonicClock.now())
            setTimer(&state)
        }
    }

    /// Takes the seat of a complete join. Returns what the client sent while it waited; nil if the client or the seat
    /// has gone meanwhile.
    func take(_ seat: any ConferenceSeat) -> [AppRTCMessage]? {
        state.withLock { state in
            guard !state.session.isOver else { return nil }
            state.seat = seat
            state.session.accepted(at: MonotonicClock.now())
            setTimer(&state)
            defer { state.held = [] }
            return state.held
        }
    }

    /// Keeps an offer or a candidate for the seat. Returns false where the seat is there.
    func hold(_ message: AppRTCMessage) -> Bool {
        state.withLock { state in
            guard state.seat == nil else { return false }
            if case .offer = message {
                state.held.removeAll { if case .offer = $0 { true } else { false } }
                state.held.insert(message, at: 0)
            } else if !state.session.isOver, state.held.count < Self.mostHeld {
                state.held.append(message)
            }
            return true
        }
    }

    /// Registers a WebSocket for the client.
    func register(_ connection: WebSocketConnection) throws(AppRTCFault) {
        let actions = try state.withLock { state throws(AppRTCFault) in
            let actions = try state.session.registered()
            state.connection = connection
            apply(actions, &state)
            return actions
        }
        finish(actions)
    }

    /// Runs a step of the session and performs its actions.
    func step(_ step: (inout AppRTCSession) -> [AppRTCSession.Action]) {
        finish(
            state.withLock { state in
                let actions = step(&state.session)
                apply(actions, &state)
                return actions
            })
    }

    private func apply(_ actions: [AppRTCSession.Action], _ state: inout State) {
        for action in actions {
            switch action {
            case .send(let frame): state.connection?.send(frame.buffer)
            case .close(let code, let reason): state.connection?.close(code.rawValue, reason)
            case .leave, .end: break
            }
        }
        setTimer(&state)
    }

    /// Performs the actions that may call back into this client, without the lock.
    private func finish(_ actions: [AppRTCSession.Action]) {
        for action in actions {
            switch action {
            case .leave(let reason): state.withLock { $0.seat }?.leave(reason)
            case .end:
                joining.cancel()
                onEnd(self)
            case .send, .close: break
            }
        }
    }

    private func setTimer(_ state: inout State) {
        let deadline = state.session.deadline
        guard state.timer?.deadline != deadline else { return }
        state.timer?.task.cancel()
        state.timer = deadline.map { deadline in
            let wait = deadline - MonotonicClock.now()
            return (
                deadline,
                Task { [weak self] in
                    try? await Task.sleep(for: wait)
                    if !Task.isCancelled { self?.timeout() }
                }
            )
        }
    }

    private func timeout() {
        // A timer that ends early is set again.
        state.withLock { $0.timer = nil }
        step { $0.handleTimeout(at: MonotonicClock.now()) }
    }
}
