import Admission
import Basics
import Conference
import NIOCore
import WebServer

/// One session of a logged-in client: its Engine.IO session, its unfinished packet and its call, behind one lock.
///
/// Frames and answers leave while the lock is held, so that they keep their order.
final class SocketIOClient: Sendable {
    let id: String
    let identity: SocketIOIdentity
    /// The address whose limits apply.
    let address: IPAddress?

    struct State {
        var engine: EngineSession
        var assembler: PacketAssembler
        var call = CallSession()
        var seat: (any ConferenceSeat)?
        var joining: Task<Void, Never>?
        /// What the client wrote to a room before its call there, which may be the room's PIN.
        var pin: (room: String, text: String)?
        var allowance: SocketIOAllowance
        fileprivate var polls: [EngineSession.Poll: CheckedContinuation<[EnginePacket]?, Never>] = [:]
        fileprivate var sockets: [EngineSession.Socket: WebSocketConnection] = [:]
        fileprivate var count = 0
        /// What frames in the WebSocket's outbox hold.
        fileprivate var shares: [ByteBudget.Share] = []
    }

    /// What a step left to do: the client's messages, and the session's end.
    struct Outcome {
        var messages: [EnginePacket.Content] = []
        var end: EngineSession.End?
    }

    private let state: Guarded<State>

    init(
        id: String, identity: SocketIOIdentity, address: IPAddress?, engine: EngineSession, budget: ByteBudget,
        at now: Instant
    ) {
        self.id = id
        self.identity = identity
        self.address = address
        state = Guarded(
            State(
                engine: engine, assembler: PacketAssembler(budget: budget, address: address),
                allowance: SocketIOAllowance(at: now)))
    }

    var user: String { identity.user }

    func read<Result>(_ body: (State) -> Result) -> Result { state.withLock { body($0) } }

    /// Changes anything but the Engine.IO session.
    func change<Result, Failure: Error>(_ body: (inout State) throws(Failure) -> Result) throws(Failure) -> Result {
        try state.withLock { state throws(Failure) in try body(&state) }
    }

    /// Runs a step of the Engine.IO session, and performs its actions.
    func step(_ body: (inout EngineSession) -> [EngineSession.Action]) -> Outcome {
        state.withLock { state in SocketIOClient.perform(body(&state.engine), &state) }
    }

    private static func perform(_ actions: [EngineSession.Action], _ state: inout State) -> Outcome {
        var outcome = Outcome()
        for action in actions {
            switch action {
            case .answer(let poll, let packets): state.polls.removeValue(forKey: poll)?.resume(returning: packets)
            case .refuse(let poll): state.polls.removeValue(forKey: poll)?.resume(returning: nil)
            case .send(let packet, let socket): send(packet, socket, &state)
            case .deliver(let content): outcome.messages.append(content)
            case .close(let socket): state.sockets.removeValue(forKey: socket)?.close(1000, "")
            case .ended(let reason): outcome.end = reason
            }
        }
        return outcome
    }

    private static func send(_ packet: EnginePacket, _ socket: EngineSession.Socket, _ state: inout State) {
        guard let connection = state.sockets[socket] else { return }
        if let share = packet.share { state.shares.append(share) }
        if case .binary = packet.content {
            connection.send(binary: packet.frame)
        } else {
            connection.send(packet.frame)
        }
    }

    /// Holds a GET until the session has an answer. Returns nil packets for a GET that may not be.
    func poll(at now: Instant, _ finish: (Outcome) -> Void) async -> [EnginePacket]? {
        await withCheckedContinuation { continuation in
            finish(
                state.withLock { state in
                    state.count += 1
                    state.polls[state.count] = continuation
                    return SocketIOClient.perform(state.engine.polled(state.count, at: now), &state)
                })
        }
    }

    /// Adds a WebSocket of the client: the session's probe, or its only transport.
    func open(_ connection: WebSocketConnection, isProbe: Bool, at now: Instant) -> EngineSession.Socket {
        state.withLock { state in
            state.count += 1
            let socket = isProbe ? state.count : SocketIOClient.firstSocket
            state.sockets[socket] = connection
            if isProbe { _ = SocketIOClient.perform(state.engine.opened(socket, at: now), &state) }
            return socket
        }
    }

    /// The WebSocket of a session that begins on one.
    static let firstSocket: EngineSession.Socket = 0

    func closed(_ socket: EngineSession.Socket) -> Outcome {
        state.withLock { state in
            state.sockets[socket] = nil
            return SocketIOClient.perform(state.engine.closed(socket), &state)
        }
    }

    /// Gives back the budget of frames that have left.
    func releaseShares() {
        state.withLock { state in
            guard !state.shares.isEmpty, state.sockets.values.allSatisfy({ $0.waitingBytes == 0 }) else { return }
            state.shares = []
        }
    }
}

extension SocketIOClient.State {
    /// The bytes that the client makes the server keep: what waits for it, and the files that it has begun to send.
    var heldBytes: Int {
        engine.queuedBytes + assembler.heldBytes + sockets.values.reduce(0) { $0 + $1.waitingBytes }
    }
}
