import Basics
package import FoundationEssentials
import Recording
import RoomMedia
import Threads

/// Moves rooms between servers: here ends what must not be twice, there it goes on.
package final class MoveService: Sendable {
    private let rooms: RoomService
    private let seats: SeatService
    private let recordings: RecordingService
    private let streams: StreamService
    private let inputs: InputService
    private let breakouts: BreakoutService
    private let log: RoomLog
    /// How many seats of each moving room may still be on the way, and since when.
    private let progress = Guarded<[String: (seats: Int, since: Instant)]>([:])
    /// Native clients that know of moves are gone within a second or two. The others are told to come back where nobody
    /// has left for this long.
    static let patience = Duration.seconds(5)

    init(
        rooms: RoomService, seats: SeatService, recordings: RecordingService, streams: StreamService,
        inputs: InputService, breakouts: BreakoutService, log: RoomLog
    ) {
        self.rooms = rooms
        self.seats = seats
        self.recordings = recordings
        self.streams = streams
        self.inputs = inputs
        self.breakouts = breakouts
        self.log = log
    }

    // MARK: - Here and elsewhere

    /// Tells `observer` from here on which rooms have changed, so that their states can be stored. There is one observer.
    package func observe(_ observer: (any RoomObserver)?) { rooms.watch.set(observer) }

    /// The names of all rooms, moving ones too.
    package var roomNames: [String] { rooms.registry.rooms.map(\.id) }
    package func hasRoom(_ id: String) -> Bool { rooms.registry[id] != nil }

    /// What the room takes along to another server; nil where there is no such room, and for a room that has begun to
    /// move: its state is what it was before.
    package func state(of room: String, at now: Date = Date()) -> RoomState? {
        guard var state = rooms.registry[room]?.read({ $0.room.movingUntil == nil ? $0.state(at: now) : nil }) ?? nil
        else {
            return nil
        }
        state.removed = rooms.registry.removals(of: room, state.meeting)
        return state
    }

    /// What outlives a room that has ended here, as a state, and for how long; nil: nothing does.
    package func stateOfEnded(_ room: String, at date: Date = Date()) -> (state: RoomState, life: Duration)? {
        guard let kept = rooms.registry.kept(room, at: MonotonicClock.now()) else { return nil }
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
        let isNew = try rooms.restore(state, at: now)
        if isNew { breakouts.watch(state.room) }
        return isNew
    }

    /// Ends rooms that other servers have.
    package func lose(_ names: [String]) {
        for name in names { rooms.end(name, reason: .moved) }
    }

    // MARK: - Away from here

    /// Begins the move of a room to another server, which has its state and takes joins already. Members are told
    /// (`ParticipantEvent.moving`) and keep their seats until they have left, the others until nobody with native
    /// signalling is there any more; after `limit` the room ends with `LeaveReason.moved`. New members are refused.
    /// Recordings, streams and inputs end.
    ///
    /// Returns when the recordings' files are complete.
    package func begin(_ id: String, within limit: Duration) async throws(ConferenceError) {
        let until = MonotonicClock.now() + limit
        let (ended, sent, pulled) = try rooms.change(id) { slot throws(ConferenceError) in
            if slot.room.movingUntil != nil { throw .moving(id) }
            slot.room.movingUntil = until
            rooms.endWaits(slot.room.endWaits(nil, at: MonotonicClock.now()), .ended(.moved), &slot)
            rooms.notifyAll(slot, .moving(within: limit))
            let ended = slot.outputs.running.map(\.id).compactMap { slot.end($0) }
            return (
                ended, slot.outputs.streams.running.map(\.id),
                slot.outputs.inputs.filter { !$0.isOver }.map(\.participant)
            )
        }
        log.moving(id, within: limit)
        for participant in pulled { seats.leave(participant, .moved) }
        await withTaskGroup(of: Void.self) { group in
            for recording in ended {
                group.addTask { [self] in _ = await recordings.control.close(recording, by: .moved) }
            }
            for stream in sent { group.addTask { [self] in _ = try? await streams.end(stream, in: id) } }
        }
    }

    /// Called several times a second, on the control thread.
    func watch(at now: Instant) {
        var moving: Set<String> = []
        for room in rooms.registry.rooms {
            let due = room.read {
                (until: $0.room.movingUntil, seats: Self.expectedToMove($0.room), hasPending: Self.canGoOn($0))
            }
            guard let due else { continue }
            if let until = due.until {
                moving.insert(room.id)
                if now >= until || isStill(room.id, due.seats, at: now) {
                    rooms.end(room.id, reason: .moved) { $0.room.movingUntil != nil }
                }
            }
            if due.hasPending { goOn(room) }
        }
        progress.withLock { progress in
            if !progress.isEmpty { progress = progress.filter { moving.contains($0.key) } }
        }
    }

    /// Whether a moving room has nobody left who may still be on the way.
    private func isStill(_ room: String, _ seats: Int, at now: Instant) -> Bool {
        if seats == 0 { return true }
        return progress.withLock { progress in
            if let known = progress[room], known.seats == seats { return now - known.since >= Self.patience }
            progress[room] = (seats, now)
            return false
        }
    }

    /// How many members may still be on the way: others than native clients do not know of the move, and come back by
    /// themselves once the call has ended.
    private static func expectedToMove(_ room: Room) -> Int {
        room.members.count { $0.isNative && !$0.isInput && $0.signallingLostAt == nil }
    }

    // MARK: - To here

    private static func canGoOn(_ slot: RoomRecord) -> Bool {
        !slot.outputs.pending.isEmpty
            && slot.room.members.contains { $0.isConnected && !$0.isInput && $0.effectiveRole != .viewer }
    }

    /// Goes on with what ran where the room comes from.
    private func goOn(_ room: LiveRoom) {
        let taken: PendingOutputs?? = try? rooms.change(room) { slot throws(ConferenceError) in
            defer { slot.outputs.pending = PendingOutputs() }
            return slot.outputs.pending
        }
        guard let pending = taken ?? nil else { return }
        for recording in pending.recordings {
            // The disk is not waited for.
            Task { [recordings, id = room.id] in
                let wish = RecordingRequest(
                    view: recording.audioOnly ? nil : recording.view, audioOnly: recording.audioOnly,
                    tracks: recording.tracks, group: recording.group ?? 0)
                let series = RecordingSeries(id: recording.series, part: recording.part + 1)
                guard
                    let info = try? await recordings.start(id, wish, by: recording.startedBy, continuing: series)
                else { return }
                if recording.isPaused { _ = try? recordings.pause(info.id) }
            }
        }
        for stream in pending.streams {
            let request = StreamRequest(
                url: stream.url, view: stream.view,
                keyframeInterval: stream.keyframeInterval.flatMap { Self.seconds($0) })
            note("stream", room.id) { () throws(ConferenceError) in _ = try streams.start(room.id, request) }
        }
        for input in pending.inputs {
            let wish = InputRequest(url: input.url, name: input.name, loops: input.loops)
            note("input", room.id) { () throws(ConferenceError) in _ = try inputs.add(wish, to: room.id) }
        }
    }

    private static func seconds(_ value: Double) -> Duration? {
        let interval = Duration.seconds(min(max(value, 0), 3600))
        return StreamRequest.keyframeIntervals.contains(interval) ? interval : nil
    }

    private func note(_ what: String, _ room: String, _ body: () throws(ConferenceError) -> Void) {
        do { try body() } catch { log.notGoneOn(what, error, room: room) }
    }
}
