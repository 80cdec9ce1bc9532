import Admission
import Basics
import Conference
package import WebServer

/// One client's session on `/signal` as a state machine: messages and events in, actions out. No socket, clock or room
/// inside.
struct SignallingSession: Sendable {
    /// An action for the owner of the socket and the conference, to be performed in order.
    enum Action: Sendable, Equatable {
        case send(ServerMessage)
        /// Joins; the result comes back by `seated` or `refused`.
        case join(JoinRequest, asksRole: Bool, token: String?)
        case resume(ResumeClaim)
        /// Gives up the wait to be let in.
        case stopWaiting
        /// Performs a request of the seat; a failure comes back by `failed`.
        case seat(SeatRequest)
        /// Leaves the seat; the page may be loaded again at once.
        case leave(returns: Bool = false)
        /// Reports the loss of signalling to the conference; the client may resume.
        case lost
        case close(CloseCode, reason: String)
    }

    enum SeatRequest: Sendable, Equatable {
        case offer(String)
        case candidate(String?)
        case state(audio: Bool?, video: Bool?, hand: Bool?)
        case layout(String?, LayoutScope, pins: [String]?)
        case view(String)
        case present(Bool, audio: Bool)
        case recorded(Bool)
        case chat(String, to: String?, all: Bool = false)
        case record(Participant.RecordAction, id: String?, group: Int? = nil)
        case mark(String)
        case moderate(Moderation)
        case breakout(BreakoutRequest)
        case room(RoomSettingsChange)
    }

    /// RFC 6455 §7.4.1.
    enum CloseCode: UInt16, Sendable {
        case normal = 1000
        case goingAway = 1001
        case policyViolation = 1008
        case tooLarge = 1009
        case internalError = 1011
        case tryAgainLater = 1013
    }

    private enum State: Sendable {
        case outside
        /// Events of the room wait until `joined` is sent.
        case joining(held: [SharedEvent])
        /// A moderator has to let the client in.
        case waiting
        case inside
        case over
    }

    private var state = State.outside
    /// The client wants changes of the participants instead of whole lists.
    private var wantsDeltas = false
    /// The number of the last announcement that the client got; nil: none since `joined`.
    private var announcement: Int?
    /// The participants of `joined`, until the first announcement; nil where the client wants no changes.
    private var welcomed: Roster?
    /// The offer of a join that is not over.
    private var offer: String?
    private let sdpLimit: Int

    init(sdpLimit: Int) { self.sdpLimit = sdpLimit }

    /// Whether the session has ended.
    var isOver: Bool {
        if case .over = state { true } else { false }
    }

    private var isOutside: Bool {
        if case .outside = state { true } else { false }
    }

    // MARK: From the client

    mutating func received(_ text: String) -> [Action] {
        if isOver { return [] }
        do {
            return try handle(ClientMessage.parse(text))
        } catch {
            return failed(error)
        }
    }

    /// Takes a binary frame, which the protocol does not have.
    mutating func receivedBinary() -> [Action] {
        isOver ? [] : failed(Refusal(.badMessage, "frames must hold text: one JSON object each"))
    }

    private mutating func handle(_ message: ClientMessage) throws(Refusal) -> [Action] {
        if case .join(let join) = message { return try handle(join) }
        if case .leave = message, case .outside = state {
            state = .over
            return [.close(.normal, reason: "left")]
        }
        // Also to who waits, and so has no other sign that the server is there.
        if case .ping = message, !isOutside { return [.send(.pong)] }
        if case .waiting = state {
            guard case .leave = message else { throw Refusal(.badMessage, "wait until you are let in") }
            state = .over
            return [.stopWaiting, .close(.normal, reason: "left")]
        }
        guard case .inside = state else { throw Refusal(.badMessage, "join first") }
        switch message {
        case .join, .ping:
            return []
        case .offer(let sdp):
            return [.seat(.offer(try checked(sdp)))]
        case .candidate(let line):
            guard (line?.utf8.count ?? 0) <= 2048 else { throw Refusal(.badMessage, "candidate: too long") }
            return [.seat(.candidate(line))]
        case .state(let change):
            return [.seat(.state(audio: change.audio, video: change.video, hand: change.hand))]
        case .layout(let layout):
            // Without both, the client's own choice ends.
            guard layout.name != nil || layout.pin != nil || layout.scope != .room else {
                throw Refusal(.badMessage, "layout: name is missing")
            }
            if let name = layout.name, !LayoutDocument.isName(name) {
                throw Refusal(.unknownLayout, "there is no such layout")
            }
            guard (layout.pin?.count ?? 0) <= 100 else { throw Refusal(.badMessage, "pin: at most 100 participants") }
            return [.seat(.layout(layout.name, layout.scope ?? .me, pins: layout.pin))]
        case .view(let name):
            return [.seat(.view(try viewName(name)))]
        case .present(let on, let audio):
            return [.seat(.present(on, audio: audio))]
        case .recorded(let on):
            return [.seat(.recorded(on))]
        case .chat(let chat):
            guard ChatMessage.allowedLength.contains(chat.text.utf8.count) else {
                var refusal = Refusal(.badMessage, "text: 1 to \(ChatMessage.allowedLength.upperBound) bytes")
                refusal.subject = "chat"
                throw refusal
            }
            return [.seat(.chat(chat.text, to: chat.to, all: chat.all ?? false))]
        case .record(let action, let id, let group):
            return [.seat(.record(action, id: id, group: group))]
        case .mark(let text):
            return [.seat(.mark(text))]
        case .moderate(let moderation):
            return [.seat(.moderate(moderation))]
        case .breakout(let request):
            return [.seat(.breakout(request))]
        case .room(let change):
            return [.seat(.room(change))]
        case .leave(let returns):
            state = .over
            return [.leave(returns: returns), .send(.left(.left)), .close(.normal, reason: "left")]
        }
    }

    private mutating func handle(_ join: ClientMessage.Join) throws(Refusal) -> [Action] {
        guard case .outside = state else { throw Refusal(.badMessage, "this connection has joined already") }
        wantsDeltas = join.deltas
        if var claim = join.resume {
            claim.room = join.room.isEmpty ? nil : join.room
            state = .joining(held: [])
            return [.resume(claim)]
        }
        guard Names.isRoom(join.room) else { throw Refusal(.badMessage, "room: \(Names.roomRule)") }
        guard let name = Names.shown(join.name) else {
            throw Refusal(.badMessage, "name: 1 to \(Names.allowedLength.upperBound) characters")
        }
        if let layout = join.layout, !LayoutDocument.isName(layout) {
            throw Refusal(.unknownLayout, "there is no such layout")
        }
        let view = try join.view.map { name throws(Refusal) in try viewName(name) }
        offer = try join.offer.map { sdp throws(Refusal) in try checked(sdp) }
        state = .joining(held: [])
        let role = join.role ?? .participant
        // A viewer has a peer that could send, since it may be brought on stage.
        var request = JoinRequest(room: join.room, name: name, role: role, layout: join.layout)
        request.view = view
        request.isNative = true
        request.pin = join.pin
        (request.hostKey, request.mayHost) = (join.hostKey, join.host ?? true)
        request.visit = join.visit
        request.drawsSigns = join.drawsSigns
        if join.recorded == false { request.unrecordedBy = [.own] }
        return [.join(request, asksRole: join.role != nil, token: join.token)]
    }

    private func checked(_ sdp: String) throws(Refusal) -> String {
        guard sdp.utf8.count <= sdpLimit else {
            throw Refusal(.badSDP, "sdp: at most \(sdpLimit) bytes (limits.sdpBytes)")
        }
        return sdp
    }

    private func viewName(_ name: String) throws(Refusal) -> String {
        guard ViewSettings.isName(name) else { throw Refusal(.badMessage, "view: there is no such view") }
        return name
    }

    // MARK: From the conference

    /// The offer that came with the join, to be answered before `seated`.
    mutating func takeOffer() -> String? { offer.take() }

    /// - Parameter answer: to the join's offer. It goes first, since it is what the client waits for, and `joined` of a
    ///   large room is long on a thin line.
    mutating func seated(
        _ welcome: Welcome, iceServers: [ICEServers.Entry], answer: String? = nil
    ) -> [Action] {
        guard case .joining(let held) = state else { return [.leave()] }
        state = .inside
        if wantsDeltas { welcomed = Roster(welcome.participants) }
        // A message of the chat that came during the join is in the history already.
        let known = Set(welcome.chat.map(\.id))
        let new = held.filter { if case .chat(let chat) = $0.event { !known.contains(chat.id) } else { true } }
        let joined = ServerMessage.joined(welcome, iceServers: iceServers, countsViewers: wantsDeltas)
        return (answer.map { [.send(.answer(sdp: $0))] } ?? []) + [.send(joined)] + new.flatMap { handleEvent($0) }
    }

    /// The join has to wait until a moderator lets the client in.
    mutating func mustWait() -> [Action] {
        guard case .joining = state else { return [.stopWaiting] }
        state = .waiting
        // Who is let in offers anew: nothing is kept of those who wait.
        offer = nil
        return [.send(.waiting)]
    }

    /// Handles the end of the wait. A client that was let in joins: the result comes by `seated` or `refused`.
    ///
    /// - Returns: whether the client is to join, and the actions if not.
    mutating func waited(_ end: WaitingEnd) -> [Action] {
        guard case .waiting = state else { return [] }
        switch end {
        case .admitted:
            state = .joining(held: [])
            return []
        case .left, .ended(.draining):
            state = .over
            return [.close(.goingAway, reason: "draining")]
        case .ended(.moved):
            state = .over
            return [.close(.goingAway, reason: "moved")]
        case .refused, .timeout, .ended:
            state = .outside
            return Refusal(end).map { failed($0) } ?? []
        }
    }

    /// Whether the client is being joined.
    var isJoining: Bool {
        if case .joining = state { true } else { false }
    }

    /// Handles a refused join or resume. After some refusals the client may try again on this connection.
    mutating func refused(_ error: Refusal, wasResume: Bool) -> [Action] {
        guard case .joining = state else { return [] }
        (state, offer) = (.outside, nil)
        // A lost seat is no fault of the client, which joins again.
        if wasResume { return [.send(.error(error, fatal: false))] }
        return failed(error)
    }

    /// Ends the connection of a client that stays above its limits, with an error.
    mutating func exhausted(_ error: Refusal) -> [Action] {
        if isOver { return [] }
        var actions: [Action] = [
            .send(.error(error, fatal: true)), .close(.policyViolation, reason: error.code.signalled.rawValue),
        ]
        if case .inside = state { actions.insert(.leave(), at: 0) }
        if case .waiting = state { actions.insert(.stopWaiting, at: 0) }
        state = .over
        return actions
    }

    mutating func answered(_ sdp: String) -> [Action] {
        guard case .inside = state else { return [] }
        return [.send(.answer(sdp: sdp))]
    }

    /// Handles the refusal of a client's request.
    mutating func failed(_ error: Refusal) -> [Action] {
        if isOver { return [] }
        guard let close = closeCode(for: error.code.signalled) else { return [.send(.error(error, fatal: false))] }
        var actions: [Action] = [
            .send(.error(error, fatal: true)), .close(close, reason: error.code.signalled.rawValue),
        ]
        if case .inside = state { actions.insert(.leave(), at: 0) }
        state = .over
        return actions
    }

    mutating func handleEvent(_ shared: SharedEvent) -> [Action] {
        switch state {
        case .joining(var held):
            // Only the newest event of each state matters; 64 messages are more than come during a join.
            if let kind = shared.event.state { held.removeAll { $0.event.state == kind } }
            if held.count < 64 { held.append(shared) }
            state = .joining(held: held)
            return []
        case .outside, .waiting, .over:
            return []
        case .inside:
            break
        }
        switch shared.event {
        case .participants(let update): return announced(update, shared)
        case .tiles, .speaker, .layout, .recording, .streaming, .chat, .link, .role, .access, .waiting, .muted,
            .keptMuted, .asked,
            .pinTries, .moving, .breakout:
            return [.send(.event(shared))]
        case .connection: return []
        case .error(let error):
            // The error concerns the room, not a request of this client, which stays.
            return [.send(.error(Refusal(error), fatal: false))]
        case .left(let reason):
            state = .over
            let isServers = reason == .draining || reason == .moved
            return [.send(.left(reason)), .close(isServers ? .goingAway : .normal, reason: reason.rawValue)]
        }
    }

    /// Sends the whole list of participants, unless the client wants changes and got the previous announcement, or
    /// `joined` alone. A client that missed an announcement, wherever it was dropped, so gets the whole list again.
    private mutating func announced(_ update: RosterUpdate, _ shared: SharedEvent) -> [Action] {
        guard wantsDeltas else { return [.send(.event(shared, .everyone))] }
        defer { (announcement, welcomed) = (update.number, nil) }
        if let welcomed {
            let change = welcomed.change(to: update.everyone)
            return change == RosterChange(viewers: welcomed.viewers) ? [] : [.send(.changed(change))]
        }
        guard announcement == update.number - 1 else { return [.send(.event(shared, .roster))] }
        return update.isVisible ? [.send(.event(shared, .change))] : []
    }

    // MARK: From the socket

    /// Handles the end of the connection, whichever side ended it.
    mutating func disconnected() -> [Action] {
        defer { state = .over }
        if case .inside = state { return [.lost] }
        if case .waiting = state { return [.stopWaiting] }
        return []
    }

    /// The server ends. Clients in rooms get `left` from their rooms, so only outside clients are closed here.
    mutating func drained() -> [Action] {
        guard case .outside = state else { return [] }
        state = .over
        return [.close(.goingAway, reason: "draining")]
    }

    /// The close code for an error; nil if the connection goes on. Outside a room, a refused join ends the connection.
    private func closeCode(for code: ErrorCode) -> CloseCode? {
        switch (code, state) {
        // Inside a room such errors (a failed recording, say) do not end the call.
        case (.internalFailure, .outside): .internalError
        case (.unauthorized, .outside), (.forbidden, .outside), (.roomLocked, .outside),
            (.pinRequired, .outside), (.wrongPIN, .outside), (.refused, .outside):
            .policyViolation
        case (.roomFull, .outside), (.overloaded, .outside): .tryAgainLater
        default: nil
        }
    }
}

extension ErrorCode {
    /// The code of an `error` message: this one, or the nearest of those that clients of `/signal` know.
    package var signalled: ErrorCode {
        switch self {
        case .badMessage, .badSDP, .noCommonCodec, .roomFull, .roomLocked, .pinRequired, .wrongPIN, .refused,
            .unauthorized, .forbidden, .unknownLayout,
            .tooFast, .overloaded,
            .internalFailure:
            self
        case .roomNotFound: .forbidden
        case .participantNotFound, .viewNotFound, .recordingNotFound, .streamNotFound, .inputNotFound,
            .recordingRunning, .recordingNotRunning,
            .layoutInUse, .conflict, .notFound:
            .badMessage
        case .badLayout: .unknownLayout
        case .draining, .noMedia: .overloaded
        default:
            // What only HTTP answers.
            .internalFailure
        }
    }
}
