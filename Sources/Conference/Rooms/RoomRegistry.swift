import Basics
import Threads

/// The rooms and seats of the server, and their limits. Its lock is held for a look-up or a count, and while the values
/// of a new room are made, which nobody may find before its start is told; not for a room's change, and for no disk.
final class RoomRegistry: Sendable {
    /// The time in which a peer must connect after its offer: ICE and DTLS take less than 5 s on the worst link that
    /// still carries a call, and trickled relay candidates some more.
    static let connectingLimit = Duration.seconds(20)

    private struct State {
        var rooms: [String: LiveRoom] = [:]
        var seats: [String: RegisteredSeat] = [:]
        /// How many seats of a room are used; a room without any may be displaced.
        var usedSeats: [String: Int] = [:]
        /// How many seats a room has; one that has lost its last is abandoned.
        var seatsOfRooms: [String: Int] = [:]
        /// The peers of screens, by their participants.
        var screens: [String: String] = [:]
        var capacity: Capacity
        var refusals = Refusals()
        var removals = Removals()
        var kept = KeptRooms()
        var isDraining = false

        mutating func endHalfOpen(_ id: String, unused: Bool, at now: Instant) {
            guard seats[id]?.halfOpenSince != nil else { return }
            capacity.releaseHalfOpen(id, unused: unused, at: now)
            seats[id]?.halfOpenSince = nil
        }

        /// - Parameter unused: it never had media, and its time is over.
        mutating func removeSeat(_ id: String, unused: Bool = false, at now: Instant) {
            endHalfOpen(id, unused: unused, at: now)
            setUsed(id, false)
            guard let seat = seats.removeValue(forKey: id) else { return }
            if let owner = seat.screenOf, screens[owner] == id { screens[owner] = nil }
            capacity.release(seat.place, unused: unused && !seat.wasUsed, at: now)
            count(seat, -1)
            seat.life.end()
        }

        mutating func add(_ seat: RegisteredSeat, _ id: String) {
            seats[id] = seat
            if let owner = seat.screenOf { screens[owner] = id }
            count(seat, 1)
        }

        private mutating func count(_ seat: RegisteredSeat, _ change: Int) {
            let left = (seatsOfRooms[seat.room] ?? 0) + change
            seatsOfRooms[seat.room] = left > 0 ? left : nil
            if left > 0 { capacity.reviveRoom(seat.room) } else { capacity.abandonRoom(seat.room) }
        }

        mutating func setUsed(_ id: String, _ isUsed: Bool) {
            guard let seat = seats[id], seat.isUsed != isUsed else { return }
            seats[id]?.isUsed = isUsed
            if isUsed { seats[id]?.wasUsed = true }
            let count = (usedSeats[seat.room] ?? 0) + (isUsed ? 1 : -1)
            usedSeats[seat.room] = count > 0 ? count : nil
            if isUsed {
                capacity.use(seat.place)
                capacity.useRoom(seat.room)
            } else {
                capacity.rest(seat.place)
                if count == 0 { capacity.restRoom(seat.room) }
            }
        }
    }

    private let state: Guarded<State>
    private let firstCheck: Duration
    /// Ends what has lost its place, later and elsewhere: rooms' locks may be held.
    private let displaced = Guarded<(@Sendable (Capacity.Displaced) -> Void)?>(nil)

    init(_ limits: ConferenceConfiguration.Limits) {
        state = Guarded(State(capacity: Capacity(limits)))
        firstCheck = limits.firstCheck
    }

    /// Sets what ends the displaced. Before this nobody is displaced, since nobody has a place.
    func onDisplaced(_ body: @escaping @Sendable (Capacity.Displaced) -> Void) { displaced.withLock { $0 = body } }

    private func end(_ other: Capacity.Displaced?) {
        if let other, let end = displaced.withLock({ $0 }) { end(other) }
    }

    // MARK: - Rooms

    subscript(id: String) -> LiveRoom? { state.withLock { $0.rooms[id] } }
    var rooms: [LiveRoom] { state.withLock { Array($0.rooms.values) } }

    /// The room of this name; where there is none, `make` creates it of what is kept of an earlier one, and it counts for
    /// `client` until `remove`.
    func room(
        _ id: String, for client: JoinClient, orMake make: (KeptRoom?) -> LiveRoom
    ) throws(ConferenceError) -> (room: LiveRoom, isNew: Bool) {
        let (result, other) = try state.withLock {
            state throws(ConferenceError) -> ((room: LiveRoom, isNew: Bool), Capacity.Displaced?) in
            if let known = state.rooms[id] { return ((room: known, isNew: false), nil) }
            if state.isDraining { throw .draining }
            var other = try state.capacity.claimRoom(id, for: client, at: MonotonicClock.now())
            if case .room(let name, _)? = other {
                other = .room(name, wasEmpty: state.seatsOfRooms[name] == nil)
            }
            let room = make(state.kept.take(id, at: MonotonicClock.now()))
            state.rooms[id] = room
            return ((room: room, isNew: true), other)
        }
        end(other)
        return result
    }

    /// Whether a displaced room may end: nobody uses a seat of it. A room that stays counts again. Called with the
    /// room's lock held, so that nobody gets a seat before the end.
    ///
    /// - Parameter wasEmpty: it was displaced while nobody had a seat of it: who has one by now stays, used or not.
    func mayEndDisplaced(_ room: LiveRoom, wasEmpty: Bool) -> Bool {
        state.withLock { state in
            // What has a place is a later room of this name.
            guard state.rooms[room.id] === room, !state.capacity.hasPlace(room: room.id) else { return false }
            let isUsed = state.usedSeats[room.id] != nil
            guard isUsed || wasEmpty && state.seatsOfRooms[room.id] != nil else { return true }
            state.capacity.keepRoom(room.id, of: room.client, isUsed: isUsed)
            return false
        }
    }

    /// Whether `limits` refuse another room or seat, whoever asks for it.
    var isFull: Bool { state.withLock { $0.capacity.isFull } }
    var seatCount: Int { state.withLock { $0.capacity.count(.seats) } }

    /// Removes a room that has ended, with its seats.
    ///
    /// - Parameter kept: what the next room of its name takes over.
    func remove(_ room: LiveRoom, seats: [String], keeping kept: KeptRoom = KeptRoom()) {
        state.withLock { state in
            guard state.rooms[room.id] === room else { return }
            let now = MonotonicClock.now()
            for client in seats.compactMap({ state.seats[$0]?.client }) {
                state.removals.roomEnded(room.id, with: client, at: now)
            }
            for id in seats { state.removeSeat(id, at: now) }
            state.rooms[room.id] = nil
            state.usedSeats[room.id] = nil
            state.seatsOfRooms[room.id] = nil
            state.capacity.releaseRoom(room.id, at: now)
            state.kept.keep(kept, of: room.id, for: room.client.address, at: now)
        }
    }

    // MARK: - What outlives rooms

    /// What is kept of a room that has ended, and for how long from now.
    func kept(_ room: String, at now: Instant) -> KeptRooms.Kept? {
        state.withLock { $0.kept.room(room, at: now) }
    }

    func allKept(at now: Instant) -> [KeptRooms.Kept] {
        state.withLock { $0.kept.all(at: now) }
    }

    /// Keeps what another server, or an earlier run of this one, had of a room that has ended.
    func keep(_ kept: KeptRoom, of room: String, hostsLife: Duration = Hosts.keep, at now: Instant) {
        state.withLock { state in
            if state.rooms[room] == nil { state.kept.keep(kept, of: room, for: nil, hostsLife: hostsLife, at: now) }
        }
    }

    // MARK: - Removals

    /// A participant was removed from a meeting.
    func noteRemoval(of id: String, from room: String, _ meeting: String, at now: Instant) {
        state.withLock { state in
            guard var client = state.seats[id]?.client else { return }
            if let address = client.address?.clientPrefix {
                // Where others are behind it too, as behind an office's router or a proxy that is not listed, an address
                // tells nobody apart: its people would be kept out for one of them.
                let isShared = state.seats.contains { other, seat in
                    other != id && seat.screenOf != id && seat.room == room
                        && seat.client.address?.clientPrefix == address
                }
                if isShared { client.address = nil }
            }
            state.removals.remove(client, from: room, meeting, at: now)
        }
    }

    /// Who was removed from a meeting, as it goes along to another server.
    func removals(of room: String, _ meeting: String) -> [RoomState.Removal] {
        state.withLock { $0.removals.state(of: room, meeting) }
    }

    /// A meeting goes on that was at another server.
    func restoreRemovals(_ room: RoomState, at now: Instant) { state.withLock { $0.removals.restore(room, at: now) } }

    /// A moderator lets a client in.
    func liftRemovals(of client: JoinClient, in room: String) { state.withLock { $0.removals.lift(client, in: room) } }

    /// The request with what a removal means for it.
    ///
    /// - Throws: where the client stays outside.
    func checkRemovals(_ request: AdmittedJoin, at now: Instant) throws(ConferenceError) -> AdmittedJoin {
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

    func seat(_ id: String) -> RegisteredSeat? { state.withLock { $0.seats[id] } }
    func room(of participant: String) -> LiveRoom? {
        state.withLock { state in state.seats[participant].flatMap { state.rooms[$0.room] } }
    }

    /// Counts a seat for `client` before the room accepts it: `add` or `releaseSeat` follows.
    func reserveSeat(_ id: String, for client: JoinClient) throws(ConferenceError) -> Capacity.SeatPlace {
        let (place, other) = try state.withLock { state throws(ConferenceError) in
            if state.isDraining { throw .draining }
            return try state.capacity.claimSeat(id, for: client, at: MonotonicClock.now())
        }
        end(other)
        return place
    }

    func releaseSeat(_ place: Capacity.SeatPlace) {
        state.withLock { $0.capacity.release(place, at: MonotonicClock.now()) }
    }

    /// - Parameter isUsed: whether it is from the start; otherwise it may be displaced until it has media.
    func add(_ seat: RegisteredSeat, _ id: String, isUsed: Bool = false) {
        state.withLock { state in
            state.add(seat, id)
            if isUsed { state.setUsed(id, true) } else { state.capacity.rest(seat.place) }
        }
    }

    /// Notes that a seat's peer is connected, or is not any more.
    func setUsed(_ id: String, _ isUsed: Bool) { state.withLock { $0.setUsed(id, isUsed) } }

    /// The peer of a participant's screen; nil: there is none.
    func screenPeer(of participant: String) -> String? { state.withLock { $0.screens[participant] } }

    /// Counts a wait for admission, until `releaseWait`.
    func reserveWait(_ wait: Capacity.Wait, for client: JoinClient) throws(ConferenceError) {
        let other = try state.withLock { state throws(ConferenceError) in
            if state.isDraining { throw .draining }
            return try state.capacity.claimWait(wait, for: client, at: MonotonicClock.now())
        }
        end(other)
    }

    func releaseWait(_ wait: Capacity.Wait) {
        state.withLock { $0.capacity.release(wait, at: MonotonicClock.now()) }
    }

    /// Removes a seat and its counts.
    ///
    /// - Parameter unused: it never had media, and its time is over.
    func removeSeat(_ id: String, unused: Bool = false) {
        state.withLock { $0.removeSeat(id, unused: unused, at: MonotonicClock.now()) }
    }

    /// Counts a seat whose peer begins to connect. Returns false where the seat is counted already.
    func beginHalfOpen(_ id: String, at now: Instant) throws(ConferenceError) -> Bool {
        let (isNew, other) = try state.withLock { state throws(ConferenceError) -> (Bool, Capacity.Displaced?) in
            guard let seat = state.seats[id], seat.halfOpenSince == nil else {
                return (false, nil)
            }
            let client = seat.wasUsed ? seat.client.inside : seat.client
            let other = try state.capacity.claimHalfOpen(id, for: client, at: now)
            state.seats[id]?.halfOpenSince = now
            state.seats[id]?.nextLook = now + firstCheck
            return (true, other)
        }
        end(other)
        return isNew
    }

    /// Ends that count: the peer is connected or gone.
    ///
    /// - Parameter unused: it did not connect in time.
    func endHalfOpen(_ id: String, unused: Bool = false) {
        state.withLock { $0.endHalfOpen(id, unused: unused, at: MonotonicClock.now()) }
    }

    /// The participants whose peers did not connect in time.
    func unconnected(at now: Instant) -> [String] {
        state.withLock { state in
            state.seats.filter { $0.value.halfOpenSince.map { now - $0 >= Self.connectingLimit } ?? false }.map(\.key)
        }
    }

    /// The participants of whose peers a valid check should have come by now, each once a second.
    func unchecked(at now: Instant) -> [String] {
        state.withLock { state in
            let due = state.seats.filter { $0.value.halfOpenSince != nil && $0.value.nextLook <= now }.map(\.key)
            for id in due { state.seats[id]?.nextLook = now + .seconds(1) }
            return due
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
