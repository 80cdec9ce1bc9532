import Basics
import Threads

/// The rooms and seats of the server, and their limits. Its lock is held for a look-up or a count, not for a room's
/// change.
final class RoomRegistry: Sendable {
    /// The time in which a peer must connect after its offer: ICE and DTLS take less than 5 s on the worst link that
    /// still carries a call, and trickled relay candidates some more.
    static let connectingLimit = Duration.seconds(20)

    private struct State {
        var rooms: [String: HostedRoom] = [:]
        var seats: [String: Seat] = [:]
        /// The peers of screens, by their participants.
        var screens: [String: String] = [:]
        var capacity: Capacity
        var refusals = Refusals()
        var removals = Removals()
        var isDraining = false

        mutating func endHalfOpen(_ id: String) {
            guard let seat = seats[id], seat.halfOpenSince != nil else { return }
            capacity.remove(.halfOpen, of: seat.client)
            seats[id]?.halfOpenSince = nil
        }

        mutating func removeSeat(_ id: String) {
            endHalfOpen(id)
            guard let seat = seats.removeValue(forKey: id) else { return }
            if let owner = seat.screenOf, screens[owner] == id { screens[owner] = nil }
            capacity.remove(.seats, of: seat.client)
            seat.life.end()
        }
    }

    private let state: Guarded<State>

    init(_ limits: ConferenceConfiguration.Limits) { state = Guarded(State(capacity: Capacity(limits))) }

    // MARK: - Rooms

    subscript(id: String) -> HostedRoom? { state.withLock { $0.rooms[id] } }
    var rooms: [HostedRoom] { state.withLock { Array($0.rooms.values) } }

    /// The room of this name; where there is none, `make` creates it, and it counts for `client` until `remove`.
    func room(
        _ id: String, for client: JoinClient, orMake make: () -> HostedRoom
    ) throws(ConferenceError) -> (room: HostedRoom, isNew: Bool) {
        try state.withLock { state throws(ConferenceError) in
            if let known = state.rooms[id] { return (known, false) }
            if state.isDraining { throw .draining }
            try state.capacity.add(.rooms, of: client)
            let room = make()
            state.rooms[id] = room
            return (room, true)
        }
    }

    /// Whether `limits` refuse another room or seat, whoever asks for it.
    var isFull: Bool {
        state.withLock { $0.capacity.isFull(.rooms) || $0.capacity.isFull(.seats) }
    }
    var seatCount: Int { state.withLock { $0.capacity.count(.seats) } }

    /// Removes a room that has ended, with its seats.
    func remove(_ room: HostedRoom, seats: [String]) {
        state.withLock { state in
            guard state.rooms[room.id] === room else { return }
            state.rooms[room.id] = nil
            state.capacity.remove(.rooms, of: room.client)
            let now = MonotonicClock.now()
            for client in seats.compactMap({ state.seats[$0]?.client }) {
                state.removals.roomEnded(room.id, with: client, at: now)
            }
            for id in seats { state.removeSeat(id) }
        }
    }

    // MARK: - Removals

    /// A participant was removed from a meeting.
    func noteRemoval(of id: String, from room: String, _ meeting: String, at now: Instant) {
        state.withLock { state in
            guard let client = state.seats[id]?.client else { return }
            state.removals.remove(client, from: room, meeting, at: now)
        }
    }

    /// A moderator lets a client in.
    func liftRemovals(of client: JoinClient, in room: String) { state.withLock { $0.removals.lift(client, in: room) } }

    /// The request with what a removal means for it.
    ///
    /// - Throws: where the client stays outside.
    func checkRemovals(_ request: JoinRequest, at now: Instant) throws(ConferenceError) -> JoinRequest {
        if request.ticket != nil || request.kind == .input { return request }
        let meeting = self[request.room]?.read { $0.room.meetingID }
        let standing = state.withLock {
            $0.removals.standing(of: request.client, in: request.room, meeting: meeting, at: now)
        }
        var request = request
        switch standing {
        case .free: break
        case .asks: request.wasRemoved = true
        case .staysOutside:
            throw .forbidden("This client was removed from the room: start the app again to ask to be let in.")
        }
        return request
    }

    // MARK: - The end

    var isDraining: Bool { state.withLock { $0.isDraining } }

    /// Refuses new rooms and seats from here on. Returns whether this is the first call.
    func drain() -> Bool {
        state.withLock { state in
            defer { state.isDraining = true }
            return !state.isDraining
        }
    }

    // MARK: - Seats

    func seat(_ id: String) -> Seat? { state.withLock { $0.seats[id] } }
    func room(of participant: String) -> HostedRoom? {
        state.withLock { state in state.seats[participant].flatMap { state.rooms[$0.room] } }
    }

    /// Counts a seat for `client` before the room accepts it: `add` or `releaseSeat` follows.
    func reserveSeat(for client: JoinClient) throws(ConferenceError) {
        try state.withLock { state throws(ConferenceError) in
            if state.isDraining { throw .draining }
            try state.capacity.add(.seats, of: client)
        }
    }

    func releaseSeat(of client: JoinClient) { state.withLock { $0.capacity.remove(.seats, of: client) } }
    func add(_ seat: Seat, _ id: String) {
        state.withLock { state in
            state.seats[id] = seat
            if let owner = seat.screenOf { state.screens[owner] = id }
        }
    }

    /// The peer of a participant's screen; nil: there is none.
    func screenPeer(of participant: String) -> String? { state.withLock { $0.screens[participant] } }

    /// Counts a wait for admission, until `releaseWait`.
    func reserveWait(for client: JoinClient) throws(ConferenceError) {
        try state.withLock { state throws(ConferenceError) in
            if state.isDraining { throw .draining }
            try state.capacity.add(.waiting, of: client)
        }
    }

    func releaseWait(of client: JoinClient) { state.withLock { $0.capacity.remove(.waiting, of: client) } }

    /// Removes a seat and its counts.
    func removeSeat(_ id: String) { state.withLock { $0.removeSeat(id) } }

    /// Counts a seat whose peer begins to connect. Returns false where the seat is counted already.
    func beginHalfOpen(_ id: String, at now: Instant) throws(ConferenceError) -> Bool {
        try state.withLock { state throws(ConferenceError) in
            guard let seat = state.seats[id], seat.halfOpenSince == nil else { return false }
            try state.capacity.add(.halfOpen, of: seat.client)
            state.seats[id]?.halfOpenSince = now
            return true
        }
    }

    /// Ends that count: the peer is connected or gone.
    func endHalfOpen(_ id: String) { state.withLock { $0.endHalfOpen(id) } }

    /// The participants whose peers did not connect in time.
    func unconnected(at now: Instant) -> [String] {
        state.withLock { state in
            state.seats.filter { $0.value.halfOpenSince.map { now - $0 >= Self.connectingLimit } ?? false }.map(\.key)
        }
    }

    // MARK: - Allowances

    /// Takes one `request` of a participant's allowance; throws and counts a refusal where the allowance is used up.
    func allow(_ request: RatedRequest, _ id: String, at now: Instant) throws(ConferenceError) {
        try state.withLock { state throws(ConferenceError) in
            do throws(ConferenceError) {
                try state.seats[id]?.allowance.take(request, at: now)
            } catch {
                state.refusals.count(request)
                throw error
            }
        }
    }

    func count(_ refusal: Refusals.View) { state.withLock { $0.refusals.count(refusal) } }

    /// The samples of the metrics page.
    var samples: [MetricSample] { state.withLock { $0.capacity.samples + $0.refusals.samples } }
}
