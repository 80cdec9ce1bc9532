import Basics
package import FoundationEssentials
import RoomMedia
import Threads

/// Rooms that come from other servers and go to them. What decides that is no part of the conference.
extension Conference {
    /// Tells `observer` from here on which rooms have changed, so that their states can be stored. There is one observer.
    package func observe(_ observer: (any RoomObserver)?) { roomService.watch.set(observer) }

    /// The names of all rooms, moving ones too.
    package var roomNames: [String] { registry.rooms.map(\.id) }
    package func hasRoom(_ id: String) -> Bool { registry[id] != nil }

    /// What the room takes along to another server; nil where there is no such room, and for a room that has begun to
    /// move: its state is what it was before.
    package func state(of room: String, at now: Date = Date()) -> RoomState? {
        guard var state = registry[room]?.read({ $0.room.movingUntil == nil ? $0.state(at: now) : nil }) ?? nil else {
            return nil
        }
        state.removed = registry.removals(of: room, state.meeting)
        return state
    }

    /// What outlives a room that has ended here, as a state, and for how long; nil: nothing does.
    package func stateOfEnded(_ room: String, at date: Date = Date()) -> (state: RoomState, life: Duration)? {
        guard let kept = registry.kept(room, at: MonotonicClock.now()) else { return nil }
        var state = RoomState(room: room, meeting: "", createdAt: date, savedAt: date)
        (state.isOver, state.hosts) = (true, RoomState.HostKeys(kept.room.hosts))
        state.links = kept.room.links.all.map { RoomState.Link($0) }
        return (state, kept.life)
    }

    /// Makes a room of the state that it had at another server, before its first join. It ends after
    /// `rooms.emptyTimeout` unless somebody joins, as it would have there. Members come back by their tickets; what ran
    /// goes on once somebody with media is back.
    ///
    /// - Returns: false where the room exists already, or where the state is of a meeting that is over.
    @discardableResult
    package func restore(_ state: RoomState, at now: Date = Date()) throws(ConferenceError) -> Bool {
        let isNew = try roomService.restore(state, at: now)
        if isNew { breakouts.watch(state.room) }
        return isNew
    }

    /// Begins the move of a room to another server, which has its state and takes joins already. Members are told
    /// (`ParticipantEvent.moving`) and keep their seats until they have left, the others until nobody with native
    /// signalling is there any more; after `limit` the room ends with `LeaveReason.moved`. New members are refused.
    /// Recordings, streams and inputs end.
    ///
    /// Returns when the recordings' files are complete.
    package func beginMove(_ room: String, within limit: Duration) async throws(ConferenceError) {
        try await moves.begin(room, within: limit)
    }

    /// Ends rooms that other servers have.
    package func lose(_ rooms: [String]) {
        for room in rooms { roomService.end(room, reason: .moved) }
    }

    /// How much of the server's capacity is used, from 0 to 1: the larger of the shares of the encoder threads and of the
    /// busiest network loop.
    package var usedCapacity: Double { capacity.withLock { $0.used } }
    /// Whether a new room would be refused now.
    package var isFull: Bool { isDraining || isOverloaded || registry.isFull }
    /// Participants and viewers in all rooms.
    package var seatCount: Int { registry.seatCount }
}
