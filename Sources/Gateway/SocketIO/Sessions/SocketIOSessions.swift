import Basics
import Conference
import NIOCore
import Threads

/// All sessions, and who is online.
final class SocketIOSessions: Sendable {
    /// Sessions of all clients together, and of one address: an office behind one address.
    static let (maxSessions, maxPerAddress) = (4096, 1024)
    /// Bytes of pictures and recordings that wait for their ends, or for their readers: of all senders, and of those of
    /// one address.
    static let (maxFileBytes, maxFileBytesPerAddress) = (64 << 20, 24 << 20)
    /// How often sessions look at the time.
    private static let tick = Duration.milliseconds(100)
    /// Presence is not told to a client with so many waiting packets: it asks for the list when it comes back.
    private static let maxPresenceBehind = 64

    private struct State {
        var clients: [String: SocketIOClient] = [:]
        var users: [String: Set<String>] = [:]
        var tally = AddressTally(limit: maxSessions, perAddress: maxPerAddress)
        var ended: [EngineSession.End: Int] = [:]
        var isTicking = false
    }

    private let state = Guarded(State())
    let budget = ByteBudget(maxFileBytes, perAddress: maxFileBytesPerAddress)
    private let now: @Sendable () -> Instant

    /// - Parameter now: an argument for tests.
    init(now: @escaping @Sendable () -> Instant = { MonotonicClock.now() }) { self.now = now }

    // MARK: Begin and end

    /// Adds a session. nil where there are too many that cannot give way.
    ///
    /// - Parameter isPolling: otherwise it begins on a WebSocket, `SocketIOClient.firstSocket`.
    func open(_ identity: SocketIOIdentity, from address: IPAddress?, isPolling: Bool) -> SocketIOClient? {
        let now = now()
        var random = SystemRandomNumberGenerator()
        let id = (0..<2).map { _ in String(random.next() as UInt64, radix: 36) }.joined()
        if let refusal = state.withLock({ $0.tally.refusal(of: address) }) { makeRoom(refusal, address, at: now) }
        let engine = isPolling ? EngineSession(at: now) : EngineSession(on: SocketIOClient.firstSocket, at: now)
        let client = SocketIOClient(
            id: id, identity: identity, address: address, engine: engine, budget: budget, at: now)
        let isFirst: Bool? = state.withLock { state in
            guard state.tally.add(address) == nil else { return nil }
            state.clients[id] = client
            state.users[client.user, default: []].insert(id)
            return state.users[client.user]?.count == 1
        }
        guard let isFirst else { return nil }
        if isFirst { announce("onLine", client) }
        startTicking()
        return client
    }

    /// Ends the session that has been silent for the longest time among those without a connection.
    private func makeRoom(_ refusal: AddressTally.Refusal, _ address: IPAddress?, at now: Instant) {
        let clients = state.withLock { Array($0.clients.values) }.filter { client in
            refusal == .total || client.address?.clientPrefix == address?.clientPrefix
        }
        let idle = clients.compactMap { client -> (SocketIOClient, Instant)? in
            client.read { $0.engine.isIdle && !$0.call.isInside ? $0.engine.lastHeard : nil }.map { (client, $0) }
        }
        if let oldest = idle.min(by: { $0.1 < $1.1 })?.0 { step(oldest) { $0.end(.evicted) } }
    }

    /// The session of a request; nil: unknown, or over.
    func client(_ id: String) -> SocketIOClient? { state.withLock { $0.clients[id] } }

    /// Called for each session that has ended.
    var onEnd: @Sendable (SocketIOClient) -> Void {
        get { endHandler.withLock { $0 } }
        set { endHandler.withLock { $0 = newValue } }
    }
    private let endHandler = Guarded<@Sendable (SocketIOClient) -> Void>({ _ in })

    /// Runs a step of a session. Returns the client's messages.
    @discardableResult
    func step(_ client: SocketIOClient, _ body: (inout EngineSession) -> [EngineSession.Action])
        -> [EnginePacket.Content]
    {
        finish(client.step(body), client)
    }

    /// Ends a session that has ended in a step. Returns the step's messages.
    @discardableResult
    func finish(_ outcome: SocketIOClient.Outcome, _ client: SocketIOClient) -> [EnginePacket.Content] {
        guard let reason = outcome.end else { return outcome.messages }
        let isLast: Bool? = state.withLock { state in
            guard state.clients.removeValue(forKey: client.id) != nil else { return nil }
            state.tally.remove(client.address)
            state.ended[reason, default: 0] += 1
            state.users[client.user]?.remove(client.id)
            guard state.users[client.user]?.isEmpty == true else { return false }
            state.users[client.user] = nil
            return true
        }
        guard let isLast else { return outcome.messages }
        onEnd(client)
        if isLast { announce("offLine", client) }
        return outcome.messages
    }

    func end(_ client: SocketIOClient, _ reason: EngineSession.End) { step(client) { $0.end(reason) } }

    func endAll(_ reason: EngineSession.End) {
        for client in state.withLock({ Array($0.clients.values) }) { end(client, reason) }
    }

    // MARK: Users

    /// The names of everyone who is online.
    var users: [String] { state.withLock { Array($0.users.keys) } }

    func clients(of user: String) -> [SocketIOClient] {
        state.withLock { state in (state.users[user] ?? []).compactMap { state.clients[$0] } }
    }

    /// The sessions with a seat in a room.
    func clients(in room: String) -> [SocketIOClient] {
        state.withLock { Array($0.clients.values) }.filter { client in
            client.read { $0.call.isInside && $0.call.room == room }
        }
    }

    /// The sessions of an address.
    func clients(at address: IPAddress?) -> [SocketIOClient] {
        let prefix = address?.clientPrefix
        return state.withLock { $0.clients.values.filter { $0.address?.clientPrefix == prefix } }
    }

    private func announce(_ event: String, _ subject: SocketIOClient) {
        let packet = SocketPacket(.event, data: [.string(event), ["user": .string(subject.user)]])
        let text = EnginePacket(.message, packet.text)
        for client in state.withLock({ Array($0.clients.values) }) where client.user != subject.user {
            step(client) { engine in
                engine.queuedPackets < SocketIOSessions.maxPresenceBehind ? engine.send([text]) : []
            }
        }
    }

    // MARK: Sending

    /// Sends an event.
    ///
    /// - Parameter ack: the number that the client's answer repeats; nil asks for none.
    func emit(
        _ event: String, _ argument: JSONValue, _ attachments: [BinaryMessage] = [], ack: Int? = nil,
        to client: SocketIOClient
    ) {
        let packet = SocketPacket(
            attachments.isEmpty ? .event : .binaryEvent, id: ack, data: [.string(event), argument],
            attachments: attachments.count)
        send(packet, attachments, to: client)
    }

    func acknowledge(_ id: Int?, _ argument: JSONValue, to client: SocketIOClient) {
        guard let id else { return }
        send(SocketPacket(.ack, id: id, data: [argument]), [], to: client)
    }

    func send(_ packet: SocketPacket, _ attachments: [BinaryMessage], to client: SocketIOClient) {
        let packets = [EnginePacket(.message, packet.text)] + attachments.map { EnginePacket($0) }
        step(client) { $0.send(packets) }
    }

    // MARK: Time

    /// Called in each tick for each session, with the time.
    var onTick: @Sendable (SocketIOClient, Instant) -> Void {
        get { tickHandler.withLock { $0 } }
        set { tickHandler.withLock { $0 = newValue } }
    }
    private let tickHandler = Guarded<@Sendable (SocketIOClient, Instant) -> Void>({ _, _ in })

    /// Looks at the time while there are sessions.
    private func startTicking() {
        let starts = state.withLock { state in
            defer { state.isTicking = true }
            return !state.isTicking
        }
        guard starts else { return }
        Task { [weak self] in
            while true {
                try? await Task.sleep(for: SocketIOSessions.tick)
                guard let self, self.goesOn() else { return }
                timePassed(at: now())
            }
        }
    }

    private func goesOn() -> Bool {
        state.withLock { state in
            state.isTicking = !state.clients.isEmpty
            return state.isTicking
        }
    }

    func timePassed(at now: Instant) {
        let tick = onTick
        for client in state.withLock({ Array($0.clients.values) }) {
            if client.read({ $0.engine.deadline <= now }) { step(client) { $0.timePassed(at: now) } }
            client.releaseShares()
            tick(client, now)
        }
    }

    // MARK: Metrics

    var samples: [MetricSample] {
        let (clients, users, ended) = state.withLock { ($0.clients.count, $0.users.count, $0.ended) }
        return [
            MetricSample("tessera_socketio_sessions", "Sessions of Socket.IO clients.", .gauge, Double(clients)),
            MetricSample("tessera_socketio_users", "Users with a Socket.IO session.", .gauge, Double(users)),
            MetricSample(
                "tessera_socketio_file_bytes", "Bytes of pictures that are being received or wait for their readers.",
                .gauge, Double(budget.used)),
        ]
            + EngineSession.End.allCases.map { end in
                MetricSample(
                    "tessera_socketio_sessions_ended_total", "Ended Socket.IO sessions, by reason.", .counter,
                    Double(ended[end] ?? 0), labels: ["reason": end.rawValue])
            }
    }
}
