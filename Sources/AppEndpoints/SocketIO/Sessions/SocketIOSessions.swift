import Basics
import Conference
import Cryptography
import NIOCore
import Threads
import WebServer

/// All sessions, and who is online.
final class SocketIOSessions: Sendable {
    /// Sessions of all clients together, which addresses share fairly, and of one address: an office behind one address.
    static let (maxSessions, maxPerAddress) = (4096, 1024)
    /// Sessions of one account: a person's devices, and sessions that have died and are not missed yet.
    static let maxPerAccount = 16
    /// Bytes that wait for their ends or for their readers, texts and files: of all senders, and of those of one
    /// address. The sender of a message pays for it, once for all its receivers.
    static let (maxWaitingBytes, maxWaitingBytesPerAddress) = (64 << 20, 24 << 20)
    /// Bytes for which a session is ended where others have no room: a client that reads has fewer waiting.
    static let minHeldBytes = 65_536
    /// How often sessions look at the time.
    private static let tick = Duration.milliseconds(100)
    /// Presence is not told to a client with so many waiting packets: it asks for the list when it comes back.
    private static let maxPresenceBehind = 64

    private struct State {
        var clients: [String: SocketIOClient] = [:]
        var users: [String: Set<String>] = [:]
        var names = SocketIONames()
        /// The number of the last event that a client was asked to acknowledge.
        var ack = 0
        /// The sessions' places, by their ids. A session is idle while it has no call.
        var places: FairShare<String>
        var ended: [EngineSession.End: Int] = [:]
        var isTicking = false
    }

    private let state: Guarded<State>
    let budget = ByteBudget(maxWaitingBytes, perAddress: maxWaitingBytesPerAddress)
    private let now: @Sendable () -> Instant

    /// The arguments are for tests.
    init(
        total: Int = maxSessions, perAddress: Int = maxPerAddress,
        now: @escaping @Sendable () -> Instant = { MonotonicClock.now() }
    ) {
        state = Guarded(State(places: FairShare(total: total, perAddress: perAddress, replacesOwn: false)))
        self.now = now
    }

    // MARK: Begin and end

    /// Adds a session, for which one of an address that has more may end. nil where there are too many that cannot give
    /// way.
    ///
    /// - Parameter isPolling: otherwise it begins on a WebSocket, `SocketIOClient.firstSocket`.
    func open(_ identity: SocketIOIdentity, from address: IPAddress?, isPolling: Bool) -> SocketIOClient? {
        let now = now()
        let id = Base64URL.encode(randomBytes(16))
        if let address, state.withLock({ $0.places.count(of: address) >= $0.places.perAddress }) {
            makeRoom(at: address)
        }
        makeRoom(of: identity.account)
        let engine = isPolling ? EngineSession(at: now) : EngineSession(on: SocketIOClient.firstSocket, at: now)
        let opened: (client: SocketIOClient, isFirst: Bool, displaced: SocketIOClient?)? = state.withLock { state in
            var displaced: SocketIOClient?
            switch state.places.claim(id, from: address, at: now) {
            case .taken: break
            case .displaced(let other, _): displaced = state.clients[other]
            case .refused: return nil
            }
            let client = SocketIOClient(
                id: id, identity: state.names.enter(identity, at: now), address: address, engine: engine,
                budget: budget, at: now)
            state.clients[id] = client
            state.users[client.user, default: []].insert(id)
            return (client, state.users[client.user]?.count == 1, displaced)
        }
        guard let opened else { return nil }
        if let displaced = opened.displaced { end(displaced, .evicted) }
        if opened.isFirst { announce("onLine", opened.client) }
        startTicking()
        return opened.client
    }

    /// Ends the session of an account that has been silent for the longest time, where it has as many as it may. One
    /// that is in a call ends only if all are.
    private func makeRoom(of account: String) {
        let own = state.withLock { $0.clients.values.filter { $0.identity.account == account } }
        guard own.count >= Self.maxPerAccount else { return }
        let known = own.map { client in client.read { (client, $0.call.isInside, $0.engine.lastHeard) } }
        let oldest = known.min { ($0.1 ? 1 : 0, $0.2) < ($1.1 ? 1 : 0, $1.2) }
        if let oldest { step(oldest.0) { $0.end(.evicted) } }
    }

    /// Ends the sessions for which most bytes wait, until there is room for so many.
    func makeRoom(for bytes: Int) {
        guard budget.free < bytes else { return }
        let clients = state.withLock { Array($0.clients.values) }
        let held = clients.map { client in (client, client.read { $0.heldBytes }) }
            .filter { $0.1 >= Self.minHeldBytes }.sorted { $0.1 > $1.1 }
        for (client, _) in held where budget.free < bytes { end(client, .tooSlow) }
    }

    /// Ends the address's session that has been silent for the longest time among those without a connection and call.
    private func makeRoom(at address: IPAddress) {
        let own = state.withLock { Array($0.clients.values) }.filter {
            $0.address?.clientPrefix == address.clientPrefix
        }
        let idle = own.compactMap { client -> (SocketIOClient, Instant)? in
            client.read { $0.engine.isIdle && !$0.call.isInside ? $0.engine.lastHeard : nil }.map { (client, $0) }
        }
        if let oldest = idle.min(by: { $0.1 < $1.1 })?.0 { end(oldest, .evicted) }
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
            state.places.release(client.id, at: now())
            state.ended[reason, default: 0] += 1
            state.users[client.user]?.remove(client.id)
            state.names.leave(client.identity, at: now())
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

    /// Whether an account has a session.
    func isOnline(_ account: String) -> Bool {
        state.withLock { $0.clients.values.contains { $0.identity.account == account } }
    }

    private func announce(_ event: String, _ subject: SocketIOClient) {
        let packet = SocketPacket(.event, data: [.string(event), ["user": .string(subject.user)]])
        // Clients ask for the list when they come back, so that presence may be lost where there is no room.
        guard let packets = packets(packet, [], for: subject.address, makesRoom: false) else { return }
        for client in state.withLock({ Array($0.clients.values) }) where client.user != subject.user {
            step(client) { engine in
                engine.queuedPackets < SocketIOSessions.maxPresenceBehind ? engine.send(packets) : []
            }
        }
    }

    // MARK: Sending

    /// A packet with its attachments, encoded once for all who get it; nil where there is no room.
    ///
    /// - Parameters:
    ///   - address: of the client that caused it.
    ///   - makesRoom: whether other sessions may end for it; not for the word that one has ended.
    private func packets(
        _ packet: SocketPacket, _ attachments: [BinaryMessage], for address: IPAddress?, makesRoom: Bool = true
    ) -> [EnginePacket]? {
        let text = packet.text
        if makesRoom { makeRoom(for: text.utf8.count + 1) }
        guard let shared = SharedText(text, budget, for: address) else { return nil }
        return [EnginePacket(shared)] + attachments.map { EnginePacket($0) }
    }

    /// The number of an event that clients acknowledge. Each client's are different, which is all that counts.
    func nextAck() -> Int {
        state.withLock { state in
            state.ack += 1
            return state.ack
        }
    }

    private static func event(
        _ event: String, _ argument: JSONValue, _ attachments: [BinaryMessage], ack: Int?
    ) -> SocketPacket {
        SocketPacket(
            attachments.isEmpty ? .event : .binaryEvent, id: ack, data: [.string(event), argument],
            attachments: attachments.count)
    }

    /// Sends an event to a client, which causes it.
    ///
    /// - Parameter ack: the number that the client's answer repeats; nil asks for none.
    func emit(
        _ event: String, _ argument: JSONValue, _ attachments: [BinaryMessage] = [], ack: Int? = nil,
        to client: SocketIOClient
    ) {
        send(Self.event(event, argument, attachments, ack: ack), attachments, to: client)
    }

    /// Sends an event of a client to others, who acknowledge it. Returns false where too many bytes of the sender's
    /// wait for their readers: then nobody gets it.
    func emit(
        _ event: String, _ argument: JSONValue, _ attachments: [BinaryMessage] = [], of sender: SocketIOClient,
        to receivers: [SocketIOClient]
    ) -> Bool {
        if receivers.isEmpty { return true }
        let packet = Self.event(event, argument, attachments, ack: nextAck())
        guard let packets = packets(packet, attachments, for: sender.address) else { return false }
        for receiver in receivers { step(receiver) { $0.send(packets) } }
        return true
    }

    func acknowledge(_ id: Int?, _ argument: JSONValue, to client: SocketIOClient) {
        guard let id else { return }
        send(SocketPacket(.ack, id: id, data: [argument]), [], to: client)
    }

    /// Sends what the client causes itself. Where that has no room, its address leaves too much unread: the session
    /// ends, since its client would miss something.
    func send(_ packet: SocketPacket, _ attachments: [BinaryMessage], to client: SocketIOClient) {
        guard let packets = packets(packet, attachments, for: client.address) else { return end(client, .tooSlow) }
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
        let clients = state.withLock { Array($0.clients.values) }
        let looks = clients.map { client in
            client.read { (client, isInside: $0.call.isInside, isDue: $0.engine.deadline <= now) }
        }
        state.withLock { state in
            for (client, isInside, _) in looks {
                if isInside { state.places.use(client.id) } else { state.places.rest(client.id) }
            }
        }
        for (client, _, isDue) in looks {
            if isDue { step(client) { $0.timePassed(at: now) } }
            client.releaseShares()
            tick(client, now)
        }
    }

    // MARK: Metrics

    var samples: [MetricSample] {
        let (clients, users, ended, places) = state.withLock { ($0.clients.count, $0.users.count, $0.ended, $0.places) }
        return places.samples("socketio_sessions") + [
            MetricSample("tessera_socketio_sessions", "Sessions of Socket.IO clients.", .gauge, Double(clients)),
            MetricSample("tessera_socketio_users", "Users with a Socket.IO session.", .gauge, Double(users)),
            MetricSample(
                "tessera_socketio_file_bytes",
                "Bytes of texts and files that are being received or wait for their readers.",
                .gauge, Double(budget.used)),
        ]
            + EngineSession.End.allCases.map { end in
                MetricSample(
                    "tessera_socketio_sessions_ended_total", "Ended Socket.IO sessions, by reason.", .counter,
                    Double(ended[end] ?? 0), labels: ["reason": end.rawValue])
            }
    }
}
