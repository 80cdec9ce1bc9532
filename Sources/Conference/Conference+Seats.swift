import Basics
import RoomMedia
import Threads

/// The seats of all rooms: who may ask for how much, and who is still being connected.
extension Conference.State {
    /// A peer that offered must be connected after this: ICE and DTLS take less than 5 s on the worst line that a call is of use on, and
    /// trickled candidates of a relay some more.
    static var connectingLimit: Duration { .seconds(20) }

    /// Counts a seat whose peer begins to connect, once.
    mutating func beginHalfOpen(_ id: String, at now: Instant) throws(ConferenceError) {
        guard let seat = seats[id], seat.halfOpenSince == nil else { return }
        try capacity.add(.halfOpen, of: seat.client)
        seats[id]?.halfOpenSince = now
    }

    /// Its peer is connected, or gone.
    mutating func endHalfOpen(_ id: String) {
        guard let seat = seats[id], seat.halfOpenSince != nil else { return }
        capacity.remove(.halfOpen, of: seat.client)
        seats[id]?.halfOpenSince = nil
    }

    /// Whose peers did not connect in time.
    func unconnected(at now: Instant) -> [String] {
        seats.filter { $0.value.halfOpenSince.map { now - $0 >= Self.connectingLimit } ?? false }.map(\.key)
    }

    /// Forgets a seat and what was counted for it.
    mutating func removeSeat(_ id: String) {
        endHalfOpen(id)
        guard let seat = seats.removeValue(forKey: id) else { return }
        capacity.remove(.seats, of: seat.client)
        seat.life.end()
    }

    /// Takes one `request` of a participant's allowance.
    mutating func allow(_ request: RatedRequest, _ id: String, at now: Instant) throws(ConferenceError) {
        do throws(ConferenceError) {
            try seats[id]?.allowance.take(request, at: now)
        } catch {
            refusals.count(request)
            throw error
        }
    }
}

extension Conference {
    /// Takes one `request` of a participant's allowance; one too many is refused and counted.
    func allow(_ request: RatedRequest, _ id: String) throws(ConferenceError) {
        try state.withLock { state throws(ConferenceError) in try state.allow(request, id, at: MonotonicClock.now()) }
    }

    /// Whether a picture of one's own may be made now. One that somebody of the room has already costs nothing.
    func allowView(_ view: PersonalView, _ id: String, in room: String) throws(ConferenceError) {
        try state.withLock { state throws(ConferenceError) in
            guard let known = state.rooms[room]?.room.personalViews, !known.contains(view) else { return }
            if overload.level > .none {
                state.refusals.count(.overload)
                throw .overloaded
            }
            do throws(ConferenceError) {
                try state.allow(.view, id, at: MonotonicClock.now())
            } catch {
                state.refusals.count(.rate)
                throw error
            }
        }
    }
}
