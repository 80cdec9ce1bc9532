import Basics
import FoundationEssentials
import Peer
import RoomMedia
import Threads

/// Joins, leaves and resumes, and the fate of seats whose media or signalling is lost.
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

    // MARK: - Joining

    /// The result of a join.
    struct Joined {
        var id: String
        var resumeSecret: String
        var room = ""
        var role = Role.participant
        /// The name of the stored avatar of a seat that came back.
        var avatar: String?
        /// The participant is the first in a room, and the configuration records rooms from their first join on.
        var startsRecording: Bool
    }

    func join(_ request: AdmittedJoin, events: @escaping @Sendable (SharedEvent) -> Void) throws(ConferenceError)
        -> Joined
    {
        try rooms.checkLayout(request.layout)
        let joined = Joined(
            id: request.ticket?.id ?? RandomToken.make(12), resumeSecret: RandomToken.make(32), room: request.room,
            startsRecording: false)
        // Who has a ticket, or was let in, is no stranger.
        let isKnown = request.ticket != nil || request.admission != nil
        let place = try registry.reserveSeat(joined.id, for: isKnown ? request.client.inside : request.client)
        do throws(ConferenceError) {
            return try enter(request, joined, place, events)
        } catch {
            // A failed join counts nothing.
            registry.releaseSeat(place)
            throw error
        }
    }

    private func enter(
        _ request: AdmittedJoin, _ joined: Joined, _ place: Capacity.SeatPlace,
        _ events: @escaping @Sendable (SharedEvent) -> Void
    ) throws(ConferenceError) -> Joined {
        while true {
            let (room, isNew) = try rooms.room(
                request.room, orMakeWith: RoomSettingsChange(), for: request.client, isReserved: false)
            do throws(ConferenceError) {
                let entered = try rooms.change(room) { slot throws(ConferenceError) in
                    if let ticket = request.ticket {
                        // A room whose state is lost goes on with who comes first.
                        if isNew, slot.isUnused { slot.room.meetingID = ticket.meeting }
                        try slot.room.require(ticket, at: Date())
                        // Somebody with the same ticket was faster.
                        if slot.room.member(ticket.id) != nil { throw .conflict("This seat is taken.") }
                    }
                    return try addMember(request, joined, place, in: &slot, events)
                }
                // nil: the room has just ended. The next turn finds or creates another room of that name.
                guard let entered else { continue }
                log.joined(entered.id, entered.role, room: request.room)
                room.read { sendInitialState(entered.id, $0) }
                return entered
            } catch {
                if isNew { rooms.end(request.room, reason: .roomEnded) { $0.isUnused && $0.room.isEmpty } }
                throw error
            }
        }
    }

    /// Called with the room's lock held.
    private func addMember(
        _ request: AdmittedJoin, _ joined: Joined, _ place: Capacity.SeatPlace, in slot: inout RoomRecord,
        _ events: @escaping @Sendable (SharedEvent) -> Void
    ) throws(ConferenceError) -> Joined {
        let id = joined.id
        let request = try slot.room.admitted(request, at: Date())
        let remembered = slot.room.absent.seat(id)
        let member = try slot.room.join(request, id: id, secret: joined.resumeSecret, at: MonotonicClock.now())
        try slot.room.useLink(of: request, by: id)
        var joined = joined
        joined.role = member.role
        joined.avatar = remembered?.avatar
        joined.resumeSecret = try makeSecret(of: member, in: &slot)
        try choose(request, of: member, in: &slot)
        if let remembered { choose(remembered, in: &slot) }
        slot.firstGuest = slot.isUnused ? (id, slot.isReserved) : nil
        slot.isReserved = false
        slot.isUnused = false
        // A screen may come by a peer of its own, as its only video.
        let sender: @Sendable (VideoSource) -> (peer: String, source: VideoSource) = { [registry] source in
            guard source == .screen, let peer = registry.screenPeer(of: id) else { return (id, source) }
            return (peer, .camera)
        }
        _ = slot.engine.add(id, hearsAs: request.asParticipant ?? id) { [peers = media.peers] source, rate in
            let (peer, source) = sender(source)
            peers.run(peer) { $0.setForwardLimit(rate, of: peer, source, at: $1) }
        } requestKeyframe: { [peers = media.peers] source in
            let (peer, source) = sender(source)
            peers.run(peer) { $0.requestKeyframe(from: peer, of: source, at: $1) }
        }
        slot.audience.listeners[id] = RoomAudience.Listener(
            mailbox: EventMailbox(counters: rooms.eventCounters, deliver: events),
            chatChannel: request.chatChannel, media: request.media)
        registry.add(RegisteredSeat(room: request.room, client: request.client, place: place, life: SeatLiveness()), id)
        joined.startsRecording =
            configuration.recording.start == .onFirstJoin && slot.outputs.running.isEmpty
            && slot.outputs.pending.recordings.isEmpty
            && slot.room.isFirst(id)
        return joined
    }

    /// The secret of a new member, which is a ticket where `seatSecrets` makes one.
    private func makeSecret(of member: Member, in slot: inout RoomRecord) throws(ConferenceError) -> String {
        guard let secrets = configuration.seatSecrets else { return member.resumeSecret }
        let secret = secrets.secret(
            of: SeatTicket(
                room: slot.room.id, meeting: slot.room.meetingID, id: member.id, name: member.name, role: member.role,
                roleIsProven: member.roleIsProven, isNative: member.isNative, issuedAt: Date()))
        try slot.room.setSecret(secret, of: member.id)
        return secret
    }

    /// Shows a member that is back what it saw, as far as the room still has it.
    private func choose(_ seat: RoomState.Seat, in slot: inout RoomRecord) {
        let limit = configuration.limits.viewsPerRoom
        if let view = seat.view { try? slot.room.show(view, to: seat.id, limit: limit) }
        if let layout = seat.ownLayout, (try? rooms.checkLayout(layout)) != nil {
            let pins = Array(seat.ownPins.prefix(100))
            try? slot.room.choose(ViewChoice(layout: layout, pins: pins), by: seat.id, limit: limit)
        }
    }

    /// Shows a new member what it asked for.
    private func choose(_ request: AdmittedJoin, of member: Member, in slot: inout RoomRecord) throws(ConferenceError) {
        var layout = request.layout
        // A link with a layout is for who opens it: it may shape a room that it creates, but nobody else's picture.
        if let chosen = layout, slot.isUnused, !slot.isReserved,
            (try? slot.room.require(.changeLayout, member.id)) != nil
        {
            try slot.room.setLayout(chosen, pins: nil, by: member.id)
            layout = nil
        }
        guard request.view != nil || layout != nil else { return }
        do throws(ConferenceError) {
            let (used, limit) = (slot.usedViews, configuration.limits.viewsPerRoom)
            var room = slot.room
            if let view = request.view { try room.show(view, to: member.id, limit: limit) }
            try room.choose(room.choice(layout, pins: nil, by: member.id), by: member.id, limit: limit)
            if let joined = room.member(member.id) { try allowView(room.view(of: joined), member.id, besides: used) }
            slot.room = room
        } catch {
            if case .atCapacity = error { registry.count(.total) }
            if request.insistsOnView { throw error }
        }
    }

    /// Sends the room's state to a new participant, without the members, whom the join announces.
    private func sendInitialState(_ id: String, _ slot: RoomRecord) {
        if let tiles = slot.tiles[slot.view(of: id)] { rooms.notify(slot, id, .tiles(tiles)) }
        let speaker = slot.room.member(id).flatMap { slot.room.speaker(for: $0) }
        if let speaker { rooms.notify(slot, id, .speaker(speaker)) }
    }

    /// Resumes a seat after signalling was lost: of this server by its secret, of another one by its ticket.
    ///
    /// - Parameters:
    ///   - claimed: the room that the client named; nil: none.
    ///   - client: who counts for a seat that this server has never seen.
    func resume(
        _ id: String, secret: String, in claimed: String? = nil, for client: JoinClient = JoinClient(),
        events: @escaping @Sendable (SharedEvent) -> Void
    ) throws(ConferenceError) -> Joined {
        do throws(ConferenceError) {
            return try takeBack(id, secret, events) { room throws(ConferenceError) in
                try room.requireSecret(secret, of: id)
            }
        } catch {
            guard case .unauthorized = error, let ticket = ticket(in: secret, of: id),
                claimed ?? ticket.room == ticket.room
            else { throw error }
            return try resume(by: ticket, secret, for: client, events: events)
        }
    }

    /// The ticket of a seat; nil where its secret is none.
    private func ticket(in secret: String, of id: String) -> SeatTicket? {
        configuration.seatSecrets?.ticket(in: secret).flatMap { $0.id == id ? $0 : nil }
    }

    /// Gives the holder of a verified ticket its seat: takes it over where somebody has it, so that there are never two.
    private func resume(
        by ticket: SeatTicket, _ secret: String, for client: JoinClient,
        events: @escaping @Sendable (SharedEvent) -> Void
    ) throws(ConferenceError) -> Joined {
        let request = AdmittedJoin(ticket, from: client)
        // The seat may come or go between the two steps.
        for _ in 0..<3 {
            if registry.room(of: ticket.id) != nil {
                do throws(ConferenceError) {
                    return try takeBack(ticket.id, secret, events) { room throws(ConferenceError) in
                        try room.require(ticket, at: Date())
                    }
                } catch {
                    if registry.room(of: ticket.id) != nil { throw error }
                }
            }
            do throws(ConferenceError) {
                return try join(request, events: events)
            } catch {
                guard case .conflict = error, registry.room(of: ticket.id) != nil else { throw error }
            }
        }
        throw .unauthorized("This seat is not kept any more: join anew.")
    }

    /// Throws unless the secret, or a ticket, is that of the member.
    func require(_ secret: String, of id: String, in room: Room) throws(ConferenceError) {
        do throws(ConferenceError) {
            try room.requireSecret(secret, of: id)
        } catch {
            guard let ticket = ticket(in: secret, of: id), room.member(id) != nil else { throw error }
            try room.require(ticket, at: Date())
        }
    }

    private func takeBack(
        _ id: String, _ secret: String, _ events: @escaping @Sendable (SharedEvent) -> Void,
        if check: (Room) throws(ConferenceError) -> Void
    ) throws(ConferenceError) -> Joined {
        guard let room = registry.room(of: id) else {
            // The next server may know the seat, or take its holder as a new participant.
            if registry.isDraining { throw .draining }
            throw .unauthorized("This seat is not kept any more: join anew.")
        }
        let own = try rooms.change(room.id) { slot throws(ConferenceError) in
            if slot.room.movingUntil != nil { throw .moving(room.id) }
            try check(slot.room)
            try slot.room.takeBack(id)
            slot.audience.listeners[id]?.mailbox = EventMailbox(counters: rooms.eventCounters, deliver: events)
            if let tiles = slot.tiles[slot.view(of: id)] { rooms.notify(slot, id, .tiles(tiles)) }
            rooms.notify(slot, id, .speaker(slot.room.member(id).flatMap { slot.room.speaker(for: $0) }))
            if slot.room.member(id)?.permits(.admit) == true {
                rooms.notify(slot, id, .waiting(slot.room.waiting.people))
            }
            return slot.room.member(id)?.resumeSecret ?? secret
        }
        log.resumed(id, room: room.id)
        return Joined(id: id, resumeSecret: own, room: room.id, startsRecording: false)
    }

    /// Adds a peer that sends a participant's screen. Returns the peer's id.
    ///
    /// - Parameter ended: called once the peer has ended for whatever reason, on the control thread.
    func addScreenPeer(
        of participant: String, in room: String, for client: JoinClient, ended: @escaping @Sendable () -> Void
    ) throws(ConferenceError) -> String {
        let id = RandomToken.make(12)
        // Each one costs the room a change, and the server a connection.
        try registry.allow(.offer, participant, at: MonotonicClock.now())
        let place = try registry.reserveSeat(id, for: client.inside)
        do throws(ConferenceError) {
            try rooms.change(room) { slot throws(ConferenceError) in
                try slot.room.addScreenPeer(id, of: participant, at: MonotonicClock.now())
                slot.audience.screens[id] = RoomAudience.ScreenListener(participant: participant, ended: ended)
                registry.add(
                    RegisteredSeat(
                        room: room, client: client.inside, place: place, life: SeatLiveness(), screenOf: participant),
                    id)
            }
        } catch {
            registry.releaseSeat(place)
            throw error
        }
        return id
    }

    // MARK: - Leaving

    func leave(_ id: String, _ reason: LeaveReason) {
        if let owner = registry.seat(id)?.screenOf {
            _ = try? rooms.changeRoom(of: id) { slot throws(ConferenceError) in
                slot.room.removeScreenPeer(id, of: owner)
            }
            return
        }
        let room: String? =
            try? rooms.changeRoom(of: id) { slot throws(ConferenceError) in
                rooms.notify(slot, id, .left(reason))
                slot.audience.feed.leaves(id, reason)
                slot.audience.listeners[id] = nil
                slot.limits[id] = nil
                slot.engine.remove(id)
                slot.room.noteAbsence(of: id, reason)
                if reason == .removed, slot.room.member(id)?.isInput == false {
                    registry.noteRemoval(
                        of: id, from: slot.room.id, slot.room.meetingID, at: MonotonicClock.now())
                }
                return slot.room.leave(id, reason, at: MonotonicClock.now()) ? slot.room.id : nil
            } ?? nil
        guard let room else { return }
        log.left(id, room: room, reason)
        registry.removeSeat(id, unused: reason == .timeout)
        media.peers.leave(id)
        statistics.ended(at: MonotonicClock.now())
    }

    /// Undoes a join: the room is as before, and a room that was created for the join ends.
    func withdraw(_ id: String) {
        guard let room = registry.room(of: id) else { return }
        leave(id, .left)
        _ = try? room.change { slot throws(ConferenceError) in
            guard slot.firstGuest?.id == id, slot.room.isEmpty else { return }
            slot.isReserved = slot.firstGuest?.foundRoom ?? false
        }
        rooms.end(room.id, reason: .roomEnded) {
            $0.room.isEmpty && $0.firstGuest.map { $0.id == id && !$0.foundRoom } ?? false
        }
    }

    // MARK: - Allowances

    /// Takes one `request` of a participant's allowance; throws and counts a refusal where the allowance is used up.
    func allow(_ request: RatedRequest, _ id: String) throws(ConferenceError) {
        try registry.allow(request, id, at: MonotonicClock.now())
    }

    /// Throws unless the participant may get this view now. `main`, and views that are in use, cost nothing and are
    /// always allowed. A phone held upright gets the upright view on a busy server too, with fewer frames
    /// (`OverloadState.leavesOut`): in the picture for all it would see stamps.
    func allowView(_ view: ViewID, _ id: String, besides used: Set<ViewID>) throws(ConferenceError) {
        let view = view.withEveryone
        if view == .main(of: view.group) || used.contains(where: { $0.withEveryone == view }) {
            return
        }
        let level = media.overload.level
        if level > .none, view != ViewID(ViewSettings.portrait, group: view.group) || level == .noNewRooms {
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

    // MARK: - Events of media (on the control thread)

    func mediaChanged(_ participant: String, _ isConnected: Bool, since: Instant) {
        let owner = registry.seat(participant)?.screenOf
        _ = try? rooms.changeRoom(of: participant) { slot throws(ConferenceError) in
            if let owner {
                return slot.room.screenPeer(participant, of: owner, isConnected: isConnected, at: since)
            }
            slot.room.media(participant, isConnected: isConnected, at: since)
            rooms.notify(slot, participant, .connection(isConnected))
        }
        if isConnected { registry.endHalfOpen(participant) }
        registry.setUsed(participant, isConnected)
    }

    /// Handles the end of a media connection. A participant with signalling may offer again; others leave.
    ///
    /// - Parameter why: a sentence for the log; nil where the peer closed the connection.
    func mediaEnded(_ participant: String, _ reason: LeaveReason, _ why: String?) {
        registry.endHalfOpen(participant)
        guard let room = registry.room(of: participant) else { return }
        if let why {
            statistics.countFailedPeer(reason)
            log.peerFailed(participant, room: room.id, reason, why: why)
        }
        guard let member = room.read({ $0.room.member(participant) }) ?? nil else { return leave(participant, reason) }
        if !member.staysWithoutMedia || reason == .overBudget { leave(participant, reason) }
    }
}
