import Admission
import Basics
import Conference
import FoundationEssentials
import Threads
import WebServer

/// The calls of all Socket.IO clients: rings, joins, offers and their ends.
final class SocketIOCalls: Sendable {
    private let sessions: SocketIOSessions
    private let joins: JoinService
    private let sdpLimit: Int
    /// nil: there is no cluster.
    private let cluster: (any AppCluster)?
    private let book = Guarded(CallBook())
    /// Called for each chat message of a client's room.
    private let onChat: @Sendable (SocketIOClient, any ConferenceSeat, ChatMessage) -> Void
    /// Called with a sentence of the server for a client that wants to join a room.
    private let onNotice: @Sendable (SocketIOClient, _ room: String, _ text: String) -> Void
    private let now: @Sendable () -> Instant

    init(
        _ sessions: SocketIOSessions, joins: JoinService, sdpLimit: Int, cluster: (any AppCluster)? = nil,
        now: @escaping @Sendable () -> Instant = { MonotonicClock.now() },
        onChat: @escaping @Sendable (SocketIOClient, any ConferenceSeat, ChatMessage) -> Void,
        onNotice: @escaping @Sendable (SocketIOClient, _ room: String, _ text: String) -> Void
    ) {
        self.sessions = sessions
        self.joins = joins
        self.sdpLimit = sdpLimit
        self.cluster = cluster
        self.now = now
        self.onChat = onChat
        self.onNotice = onNotice
    }

    // MARK: Rings

    /// `videoChat`: acknowledges the room, and rings where the other is a person.
    func call(_ argument: JSONValue, _ id: Int?, _ client: SocketIOClient) {
        guard case .string(let other)? = argument["to_user"] else { return decline(id, client) }
        if let room = SocketIORooms.room(other) { return sessions.acknowledge(id, .string(room), to: client) }
        guard client.change({ $0.allowance.ring(at: now()) }) else { return decline(id, client) }
        let room = UUID().uuidString.lowercased()
        let callees = other == client.user ? [] : sessions.clients(of: other)
        // A token for one room opens no other, so its holder cannot call, and only others with tokens for all rooms
        // could answer.
        let isAllowed = client.identity.covers(room: room)
        let isRinging =
            isAllowed
            && book.withLock { $0.ring(room, from: client.user, session: client.id, to: other, at: now()) }
        sessions.acknowledge(id, .string(room), to: client)
        guard isRinging else { return sessions.emit("cancelVideoChat", [:], to: client) }
        var type = JSONValue.integer(0)
        if case .integer? = argument["chat_type"] { type = argument["chat_type"] ?? type }
        let ring: JSONValue = ["from_user": .string(client.user), "room": .string(room), "chat_type": type]
        let rung = callees.filter { $0.identity.covers(room: room) }
        if !sessions.emit("videoChat", ring, of: client, to: rung) { sessions.emit("cancelVideoChat", [:], to: client) }
    }

    /// Ends a call that rings nowhere: its screen waits for a room, with which alone it hears of the end.
    func decline(_ id: Int?, _ client: SocketIOClient) {
        sessions.acknowledge(id, .string(UUID().uuidString.lowercased()), to: client)
        sessions.emit("cancelVideoChat", [:], to: client)
    }

    /// `cancelVideoChat`: refuses or ends a call for all who take part. In a room only the client's own call ends.
    func cancel(_ argument: JSONValue, _ client: SocketIOClient) {
        guard case .string(let room)? = argument["room"] else { return }
        let told = book.withLock { $0.cancel(room, by: client.user, session: client.id) }
        guard let told else { return }
        let callees = told.users.flatMap { sessions.clients(of: $0) }.filter { $0.id != client.id }
        for other in told.sessions.compactMap({ sessions.client($0) }) + callees {
            perform(other.change { $0.call.room == room ? $0.call.close() : [] }, other)
            if other.id != client.id { sessions.emit("cancelVideoChat", [:], to: other) }
        }
    }

    // MARK: The client's call

    /// `__join`
    func join(_ argument: JSONValue, _ client: SocketIOClient) {
        guard case .string(let room)? = argument["room"], Names.isRoom(room) else { return }
        let (before, actions) = client.change { state in (state.call.room, state.call.join(room)) }
        if let before, before != room { left(before, client) }
        perform(actions, client)
    }

    /// `__offer`
    func offer(_ argument: JSONValue, _ client: SocketIOClient) {
        guard case .string(let text)? = argument["sdp"]?["sdp"], text.utf8.count <= sdpLimit else { return }
        client.change { $0.call.offered(text, at: now()) }
    }

    /// `__ice_candidate`
    func candidate(_ argument: JSONValue, _ client: SocketIOClient) {
        guard case .string(let line)? = argument["candidate"], line.utf8.count <= 2048 else { return }
        perform(client.change { $0.call.candidate(line) }, client)
    }

    /// `closeRoom`
    func close(_ client: SocketIOClient) {
        let (room, actions) = client.change { state in (state.call.room, state.call.close()) }
        perform(actions, client)
        if let room { left(room, client) }
    }

    /// The session has ended.
    func gone(_ client: SocketIOClient) {
        close(client)
        perform(book.withLock { $0.gone(session: client.id) })
    }

    func timePassed(_ client: SocketIOClient, at now: Instant) {
        guard client.read({ $0.call.deadline <= now }) else { return }
        let (room, actions) = client.change { state in (state.call.room, state.call.timePassed(at: now)) }
        perform(actions, client)
        if let room, actions.contains(.remove) { left(room, client) }
    }

    private func perform(_ actions: [CallSession.Action], _ client: SocketIOClient) {
        for action in actions {
            switch action {
            case .join(let room, let call):
                let task = Task { await join(room, call, client) }
                client.change { $0.joining = task }
            case .giveUp: client.read { $0.joining }?.cancel()
            case .offer(let text, let call): Task { await answer(text, call, client) }
            case .candidate(let line): client.read { $0.seat }?.addCandidate(line)
            case .leave: client.takeSeat()?.leave(.left)
            case .peers:
                sessions.emit(
                    "_peers", ["connections": [.string(CallSession.peer)], "you": .string(client.id)], to: client)
            case .answer(let text):
                sessions.emit(
                    "_answer",
                    ["sdp": ["type": "answer", "sdp": .string(text)], "socketId": .string(CallSession.peer)],
                    to: client)
            case .remove: sessions.emit("_remove_peer", ["socketId": .string(CallSession.peer)], to: client)
            }
        }
    }

    private func join(_ room: String, _ call: Int, _ client: SocketIOClient) async {
        var request = joins.request(room: room, name: client.user, from: client.address)
        // The apps cannot offer again within a call, so a seat whose media has ended has no use any more. A client that
        // polls and dies would keep it until its session ends, in 85 s.
        request.endsWithMedia = true
        request.client.device = JoinClient.Device(["account \(client.identity.account)"])
        request.pin = client.read { $0.pin.flatMap { $0.room == room ? $0.text : nil } }
        do throws(Refusal) {
            // Its clients are all here, and so are the rooms of their calls.
            try await cluster?.placeHere(room)
            let seat = try await joins.joinWhenLetIn(request, as: .socketIO, token: client.identity.token) {
                onNotice(client, room, "A moderator has to let you in: please wait in the call.")
            } events: { [weak self, weak client] event in
                if let self, let client { self.handle(event.event, call, client) }
            }
            let actions: [CallSession.Action]? = client.change { state in
                let actions = state.call.joined(call, at: now())
                if actions != nil { state.seat = seat }
                return actions
            }
            guard let actions else { return seat.withdraw() }
            book.withLock { $0.joined(room, session: client.id) }
            perform(actions, client)
        } catch {
            let actions = client.change { $0.call.refused(call) }
            perform(actions, client)
            guard !actions.isEmpty else { return }
            if error.code == .pinRequired || error.code == .wrongPIN {
                onNotice(client, room, "\(error.message) Write it here, then call again.")
            } else if error.code == .refused {
                onNotice(client, room, error.message)
            }
            left(room, client)
        }
    }

    private func answer(_ offer: String, _ call: Int, _ client: SocketIOClient) async {
        guard let seat = client.read({ $0.seat }) else { return }
        let room = client.read { $0.call.room }
        do {
            let answer = try await seat.offer(offer)
            perform(client.change { $0.call.answered(answer.text, call) }, client)
        } catch {
            let actions = client.change { $0.call.failed(call) }
            perform(actions, client)
            if let room, !actions.isEmpty { left(room, client) }
        }
    }

    /// Takes an event of the conference. Runs on its thread.
    private func handle(_ event: ParticipantEvent, _ call: Int, _ client: SocketIOClient) {
        switch event {
        case .left:
            let (room, actions) = client.change { state in (state.call.room, state.call.ended(call)) }
            if !actions.isEmpty { _ = client.takeSeat() }
            perform(actions, client)
            if let room, !actions.isEmpty { left(room, client) }
        case .chat(let message):
            if let seat = client.read({ $0.seat }) { onChat(client, seat, message) }
        default:
            break
        }
    }

    // MARK: The others

    /// Tells the others of a call between people that one of them has left.
    private func left(_ room: String, _ client: SocketIOClient) {
        perform(book.withLock { $0.left(room, session: client.id) }, in: room)
    }

    private func perform(_ effects: [CallBook.Effect], in room: String? = nil) {
        for effect in effects {
            switch effect {
            case .stopRinging(let user):
                for callee in sessions.clients(of: user) { sessions.emit("cancelVideoChat", [:], to: callee) }
            case .end(let id):
                guard let last = sessions.client(id), let room, !hasOthers(room, beside: last) else { continue }
                let actions = last.change { $0.call.room == room ? $0.call.close() + [.remove] : [] }
                perform(actions, last)
                perform(book.withLock { $0.left(room, session: id) })
            }
        }
    }

    /// Whether clients of other families are in a call's room.
    private func hasOthers(_ room: String, beside client: SocketIOClient) -> Bool {
        let own = client.read { $0.seat?.id }
        return joins.conference.rooms.room(room)?.participants.contains { $0.id != own } ?? false
    }
}

extension SocketIOClient {
    func takeSeat() -> (any ConferenceSeat)? {
        change { state in
            defer { state.seat = nil }
            return state.seat
        }
    }
}
