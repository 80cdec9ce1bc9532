import Basics
import Foundation
import Threads

extension Conference {
    // MARK: - Coming

    /// Gives a seat in a room, which is made where it does not exist yet and may be. `events` come in order, on
    /// a thread of ours; the first may come before this returns.
    public func join(
        _ request: JoinRequest, events: @escaping @Sendable (ParticipantEvent) -> Void
    ) throws(ConferenceError) -> Participant {
        if let layout = request.layout, request.role != .viewer { try checkLayout(layout) }
        let id = Self.token(12)
        let secret = Self.token(32)
        let now = MonotonicClock.now()
        let mustRecord = try state.withLock { state throws(ConferenceError) in
            if state.isDraining { throw .draining }
            var slot: RoomSlot
            let isNew = state.rooms[request.room] == nil
            try state.capacity.add(.seats, of: request.client)
            // What was counted for a join that fails is taken back.
            var isIn = false
            defer { if !isIn { state.capacity.remove(.seats, of: request.client) } }
            if let known = state.rooms[request.room] {
                slot = known
            } else {
                if configuration.rooms.create == .api { throw .roomNotFound(request.room) }
                slot = try makeRoom(request.room, in: &state, RoomSettingsChange(), for: request.client)
            }
            let old = slot.room
            let views = slot.views
            do throws(ConferenceError) {
                let member = try slot.room.join(request, id: id, secret: secret, at: now)
                if let layout = request.layout, member.role != .viewer, member.kind == .participant {
                    try slot.room.setLayout(layout, scope: .room, pins: nil, by: id)
                }
            } catch {
                if isNew {
                    slot.engine.close()
                    state.capacity.remove(.rooms, of: request.client)
                }
                throw error
            }
            slot.firstGuest = isNew || slot.isReserved ? (id, !isNew) : nil
            slot.isReserved = false
            _ = slot.engine.add(id, hearsAs: request.asParticipant ?? id) { [weak self] in
                self?.onLoop { $0.requestKeyframe(from: id, at: $1) }
            }
            slot.listeners[id] = RoomSlot.Listener(
                mailbox: EventMailbox(counters: self.events, deliver: events), receivesMessages: request.receivesMessages,
                opensChannels: request.opensChannels)
            publish(&slot, since: old, views)
            if let tiles = slot.tiles[slot.view(of: id)] { tell(slot, id, .tiles(tiles)) }
            if let speaker = slot.room.speaker { tell(slot, id, .speaker(speaker)) }
            state.rooms[request.room] = slot
            state.seats[id] = Seat(room: request.room, client: request.client, life: SeatLife())
            isIn = true
            return configuration.recording.start == .onFirstJoin && slot.recording == nil && slot.room.members.count == 1
        }
        if mustRecord {
            // Nobody waits for the disk.
            Task { [self] in
                do { try await startRecording(request.room) } catch { logger.error("recording of \(request.room): \(error)") }
            }
        }
        return Participant(id: id, room: request.room, resumeSecret: secret, conference: self)
    }

    /// Takes a seat back after signalling was lost.
    public func resume(
        id: String, secret: String, events: @escaping @Sendable (ParticipantEvent) -> Void
    ) throws(ConferenceError) -> Participant {
        guard let room = state.withLock({ $0.seats[id]?.room }) else {
            throw .unauthorized("This seat is not kept any more: join anew.")
        }
        try change(room) { slot throws(ConferenceError) in
            try slot.room.resume(id, secret: secret)
            slot.listeners[id]?.mailbox = EventMailbox(counters: self.events, deliver: events)
            if let tiles = slot.tiles[slot.view(of: id)] { tell(slot, id, .tiles(tiles)) }
            tell(slot, id, .speaker(slot.room.speaker))
        }
        return Participant(id: id, room: room, resumeSecret: secret, conference: self)
    }

    /// Letters and digits, from the system's generator of secrets.
    static func token(_ count: Int) -> String {
        let alphabet = Array("abcdefghijkmnpqrstuvwxyz23456789".utf8)
        var generator = SystemRandomNumberGenerator()
        return String(
            decoding: (0..<count).map { _ in alphabet[Int.random(in: 0..<alphabet.count, using: &generator)] }, as: UTF8.self)
    }

    // MARK: - Seen from outside

    public func participant(_ id: String, in room: String) throws(ConferenceError) -> ParticipantInfo {
        try state.withLock { state throws(ConferenceError) in
            guard let slot = state.rooms[room] else { throw .roomNotFound(room) }
            guard let member = slot.room.member(id) else { throw .participantNotFound(id) }
            return member.info
        }
    }

    @discardableResult
    public func updateParticipant(
        _ id: String, in room: String, _ change: ParticipantChange
    ) throws(ConferenceError) -> ParticipantInfo {
        try self.change(room) { slot throws(ConferenceError) in try slot.room.change(id, change) }
    }

    public func removeParticipant(_ id: String, in room: String) throws(ConferenceError) {
        _ = try participant(id, in: room)
        leave(id, .removed)
    }

    // MARK: - Going

    func leave(_ id: String, _ reason: LeaveReason) {
        let isGone: Bool? = try? changeRoom(of: id) { slot throws(ConferenceError) in
            tell(slot, id, .left(reason))
            slot.listeners[id] = nil
            slot.limits[id] = nil
            slot.engine.remove(id)
            return slot.room.leave(id, at: MonotonicClock.now())
        }
        guard isGone == true else { return }
        state.withLock { $0.removeSeat(id) }
        onLoop { host, now in host.remove(id, at: now) }
        figures.ended(at: MonotonicClock.now())
    }

    /// Undoes a join that led to nothing: the room is as before, and one that was made for it is gone.
    func withdraw(_ id: String) {
        guard let room = state.withLock({ $0.seats[id]?.room }) else { return }
        leave(id, .left)
        state.withLock { state in
            guard let slot = state.rooms[room], slot.firstGuest?.id == id, slot.room.members.isEmpty else { return }
            state.rooms[room]?.isReserved = slot.firstGuest?.foundRoom ?? false
        }
        end(room, reason: .roomEnded) { $0.room.members.isEmpty && $0.firstGuest.map { $0.id == id && !$0.foundRoom } ?? false }
    }
}
