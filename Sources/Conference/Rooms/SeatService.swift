import Basics
import Foundation
import RoomMedia
import Threads

/// Who comes, who goes, and what becomes of a seat whose media or signalling is lost.
final class SeatService: Sendable {
    private let configuration: ConferenceConfiguration
    private let rooms: RoomService
    private let media: MediaThreads
    private let statistics: ServerStatistics
    private let log: RoomLog
    private var registry: RoomRegistry { rooms.registry }

    init(
        _ configuration: ConferenceConfiguration, rooms: RoomService, media: MediaThreads, statistics: ServerStatistics,
        log: RoomLog
    ) {
        self.configuration = configuration
        self.rooms = rooms
        self.media = media
        self.statistics = statistics
        self.log = log
    }

    // MARK: - Coming

    /// What a join led to.
    struct Joined {
        var id: String
        var resumeSecret: String
        /// The participant is the first in a room that is to be recorded from its first join on.
        var startsRecording: Bool
    }

    func join(_ request: JoinRequest, events: @escaping @Sendable (SharedEvent) -> Void) throws(ConferenceError)
        -> Joined
    {
        if let layout = request.layout, request.role != .viewer { try rooms.checkLayout(layout) }
        let joined = Joined(id: Self.token(12), resumeSecret: Self.token(32), startsRecording: false)
        try registry.reserveSeat(for: request.client)
        do throws(ConferenceError) {
            return try enter(request, joined, events)
        } catch {
            // What was counted for a join that fails is taken back.
            registry.giveBack(seatOf: request.client)
            throw error
        }
    }

    private func enter(
        _ request: JoinRequest, _ joined: Joined, _ events: @escaping @Sendable (SharedEvent) -> Void
    ) throws(ConferenceError) -> Joined {
        while true {
            let (room, isNew) = try rooms.room(
                request.room, orMakeWith: RoomSettingsChange(), for: request.client, isReserved: false)
            do throws(ConferenceError) {
                let entered = try rooms.change(room) { slot throws(ConferenceError) in
                    try sit(request, joined, in: &slot, events)
                }
                // Nil: the room ended just now. Who comes then is the first of the next one.
                guard let entered else { continue }
                log.joined(entered.id, request)
                room.read { greet(entered.id, $0) }
                return entered
            } catch {
                if isNew { rooms.end(request.room, reason: .roomEnded) { $0.isUnused } }
                throw error
            }
        }
    }

    /// With the room's lock held.
    private func sit(
        _ request: JoinRequest, _ joined: Joined, in slot: inout RoomSlot,
        _ events: @escaping @Sendable (SharedEvent) -> Void
    ) throws(ConferenceError) -> Joined {
        let id = joined.id
        let member = try slot.room.join(request, id: id, secret: joined.resumeSecret, at: MonotonicClock.now())
        if let layout = request.layout, member.role != .viewer, member.kind == .participant {
            try slot.room.setLayout(layout, scope: .room, pins: nil, by: id)
        }
        slot.firstGuest = slot.isUnused ? (id, slot.isReserved) : nil
        slot.isReserved = false
        slot.isUnused = false
        _ = slot.engine.add(id, hearsAs: request.asParticipant ?? id) { [peers = media.peers] in
            peers.run(id) { $0.requestKeyframe(from: id, at: $1) }
        }
        slot.listeners[id] = RoomSlot.Listener(
            mailbox: EventMailbox(counters: rooms.eventCounters, deliver: events),
            receivesMessages: request.receivesMessages,
            opensChannels: request.opensChannels)
        registry.add(Seat(room: request.room, client: request.client, life: SeatLife()), id)
        var joined = joined
        joined.startsRecording =
            configuration.recording.start == .onFirstJoin && slot.recording == nil && slot.room.members.count == 1
        return joined
    }

    /// What a participant must know of the room besides who is in it.
    private func greet(_ id: String, _ slot: RoomSlot) {
        if let tiles = slot.tiles[slot.view(of: id)] { rooms.tell(slot, id, .tiles(tiles)) }
        if let speaker = slot.room.speaker { rooms.tell(slot, id, .speaker(speaker)) }
    }

    /// Takes a seat back after signalling was lost. Returns its room.
    func resume(
        _ id: String, secret: String, events: @escaping @Sendable (SharedEvent) -> Void
    ) throws(ConferenceError) -> String {
        guard let room = registry.room(of: id) else {
            throw .unauthorized("This seat is not kept any more: join anew.")
        }
        try rooms.change(room.id) { slot throws(ConferenceError) in
            try slot.room.resume(id, secret: secret)
            slot.listeners[id]?.mailbox = EventMailbox(counters: rooms.eventCounters, deliver: events)
            if let tiles = slot.tiles[slot.view(of: id)] { rooms.tell(slot, id, .tiles(tiles)) }
            rooms.tell(slot, id, .speaker(slot.room.speaker))
        }
        log.resumed(id, room: room.id)
        return room.id
    }

    /// Letters and digits, from the system's generator of secrets.
    static func token(_ count: Int) -> String {
        let alphabet = Array("abcdefghijkmnpqrstuvwxyz23456789".utf8)
        var generator = SystemRandomNumberGenerator()
        return String(
            decoding: (0..<count).map { _ in alphabet[Int.random(in: 0..<alphabet.count, using: &generator)] },
            as: UTF8.self)
    }

    // MARK: - Going

    func leave(_ id: String, _ reason: LeaveReason) {
        let room: String? =
            try? rooms.changeRoom(of: id) { slot throws(ConferenceError) in
                rooms.tell(slot, id, .left(reason))
                slot.listeners[id] = nil
                slot.limits[id] = nil
                slot.engine.remove(id)
                return slot.room.leave(id, at: MonotonicClock.now()) ? slot.room.id : nil
            } ?? nil
        guard let room else { return }
        log.left(id, room: room, reason)
        registry.removeSeat(id)
        media.peers.leave(id)
        statistics.ended(at: MonotonicClock.now())
    }

    /// Undoes a join that led to nothing: the room is as before, and one that was made for it is gone.
    func withdraw(_ id: String) {
        guard let room = registry.room(of: id) else { return }
        leave(id, .left)
        _ = try? room.change { slot throws(ConferenceError) in
            guard slot.firstGuest?.id == id, slot.room.members.isEmpty else { return }
            slot.isReserved = slot.firstGuest?.foundRoom ?? false
        }
        rooms.end(room.id, reason: .roomEnded) {
            $0.room.members.isEmpty && $0.firstGuest.map { $0.id == id && !$0.foundRoom } ?? false
        }
    }

    // MARK: - Allowances

    /// Takes one `request` of a participant's allowance; one too many is refused and counted.
    func allow(_ request: RatedRequest, _ id: String) throws(ConferenceError) {
        try registry.allow(request, id, at: MonotonicClock.now())
    }

    /// Whether a picture of one's own may be made now. One that somebody of the room has already costs nothing.
    func allowView(_ view: PersonalView, _ id: String, in room: String) throws(ConferenceError) {
        guard let known = registry[room]?.read({ $0.room.personalViews }), !known.contains(view) else { return }
        if media.overload.level > .none {
            registry.count(.overload)
            throw .overloaded
        }
        do throws(ConferenceError) {
            try allow(.view, id)
        } catch {
            registry.count(.rate)
            throw error
        }
    }

    // MARK: - What media tells (on the control thread)

    func mediaChanged(_ participant: String, _ isConnected: Bool, since: Instant) {
        _ = try? rooms.changeRoom(of: participant) { slot throws(ConferenceError) in
            slot.room.media(participant, isConnected: isConnected, at: since)
            rooms.tell(slot, participant, .connection(isConnected))
        }
        if isConnected { registry.endHalfOpen(participant) }
    }

    /// The connection is over for good. Who has an endpoint of their own may offer anew; others have left.
    ///
    /// - Parameter why: a sentence for the log; nil where the peer said goodbye.
    func mediaEnded(_ participant: String, _ reason: LeaveReason, _ why: String?) {
        registry.endHalfOpen(participant)
        guard let room = registry.room(of: participant), let member = room.read({ $0.room.member(participant) }) ?? nil
        else { return }
        if let why {
            statistics.countFailedPeer(reason)
            log.peerFailed(participant, room: room.id, reason, why: why)
        }
        if !member.staysWithoutMedia || reason == .overBudget { leave(participant, reason) }
    }

    // MARK: - Time

    /// Ends what has waited for too long: seats that nobody came back for, peers that did not connect, rooms without
    /// anyone.
    func expire(at now: Instant) {
        var (expired, abandoned): ([String], [String]) = ([], [])
        for room in registry.rooms {
            room.read { slot in
                expired += slot.room.expired(at: now)
                if isAbandoned(slot, at: now) { abandoned.append(room.id) }
            }
        }
        for id in expired { leave(id, .timeout) }
        for id in abandoned { rooms.end(id, reason: .roomEnded) { isAbandoned($0, at: now) } }
        for id in registry.unconnected(at: now) { giveUpConnecting(id) }
    }

    private func isAbandoned(_ slot: RoomSlot, at now: Instant) -> Bool {
        if slot.isReserved || configuration.rooms.create == .api { return false }
        return slot.room.isAbandoned(after: configuration.rooms.emptyTimeout, at: now)
    }

    /// A peer that did not connect in time is forgotten. Who has signalling may offer anew; others have left.
    private func giveUpConnecting(_ id: String) {
        registry.endHalfOpen(id)
        let member = registry.room(of: id)?.read { $0.room.member(id) } ?? nil
        if member?.staysWithoutMedia == true {
            media.peers.run(id) { host, now in if host.seat(id)?.isConnected == false { host.remove(id, at: now) } }
        } else {
            leave(id, .timeout)
        }
    }
}
