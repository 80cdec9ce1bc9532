import Basics
import Peer
import RoomMedia

/// Ends what nobody uses any more: seats that have expired, peers that did not connect, rooms that are empty, and what
/// has lost its place to a newcomer.
final class SeatExpiry: Sendable {
    private let configuration: ConferenceConfiguration
    private let rooms: RoomService
    private let seats: SeatService
    private let media: MediaThreads
    private let log: RoomLog
    private var registry: RoomRegistry { rooms.registry }

    init(
        _ configuration: ConferenceConfiguration, rooms: RoomService, seats: SeatService, media: MediaThreads,
        log: RoomLog
    ) {
        (self.configuration, self.rooms, self.seats, self.media, self.log) = (configuration, rooms, seats, media, log)
    }

    /// Ends expired seats, peers that did not connect in time, and rooms that were empty for too long.
    func expire(at now: Instant) {
        var (expired, abandoned, unhosted): ([String], [String], [LiveRoom]) = ([], [], [])
        for room in registry.rooms {
            let isOver = room.read { slot in
                expired +=
                    slot.room.expired(at: now, withoutMedia: configuration.limits.seatWithoutMedia)
                    + slot.room.expiredScreenPeers(at: now)
                if isAbandoned(slot, at: now) { abandoned.append(room.id) }
                if slot.room.hostsAreDue(at: now) { unhosted.append(room) }
                return slot.remembersMeeting && isEmpty(slot, at: now)
            }
            // Rooms of the API stay without anyone; who comes next is of another meeting.
            if isOver == true {
                _ = try? room.change { slot throws(ConferenceError) in
                    if isEmpty(slot, at: now) { slot.forgetMeeting() }
                }
            }
        }
        endExpecting(at: now)
        for room in unhosted {
            _ = try? rooms.change(room) { slot throws(ConferenceError) in slot.room.endAwaitingHosts(at: now) }
        }
        for id in expired { seats.leave(id, .timeout) }
        for id in abandoned { rooms.end(id, reason: .roomEnded) { isAbandoned($0, at: now) } }
        for id in registry.unconnected(at: now) { endUnconnected(id) }
        for id in registry.unchecked(at: now) { endUnchecked(id) }
    }

    /// In rooms that came from another server: who is not back by now has left.
    private func endExpecting(at now: Instant) {
        for room in registry.rooms where room.read({ $0.room.absent.expectedUntil.map { $0 <= now } }) == true {
            _ = try? rooms.change(room) { slot throws(ConferenceError) in
                rooms.tell(slot.audience.feed.missed(slot.room.endExpecting(at: now)), of: slot.room)
                if !slot.room.hasPeople { slot.outputs.pending = PendingOutputs() }
            }
        }
    }

    private func isAbandoned(_ slot: RoomRecord, at now: Instant) -> Bool {
        if slot.isReserved || configuration.rooms.create == .api { return false }
        // A moving room ends with its move.
        return slot.room.movingUntil == nil && isEmpty(slot, at: now)
    }

    private func isEmpty(_ slot: RoomRecord, at now: Instant) -> Bool {
        slot.room.isAbandoned(after: configuration.rooms.emptyTimeout, at: now)
    }

    /// Removes a peer of which no valid check has come, though both descriptions are there: nobody is at its address.
    private func endUnchecked(_ id: String) {
        media.peers.run(id) { [weak self] host, now in
            guard let self, lacksCheck(id, host, at: now) else { return }
            rooms.control.post { self.endUnconnected(id) }
        }
    }

    /// Called on the peer's loop.
    func lacksCheck(_ id: String, _ host: PeerLoop, at now: Instant) -> Bool {
        guard let seat = host.seat(id), !seat.isConnected, !seat.peer.hasValidCheck,
            let described = seat.peer.milestones.described
        else { return false }
        return now - described >= configuration.limits.firstCheck
    }

    /// Ends what has lost its place to a newcomer.
    func displace(_ displaced: Capacity.Displaced) {
        switch displaced {
        case .room(let id, let wasEmpty): rooms.endDisplaced(id, wasEmpty: wasEmpty)
        case .seat(let id):
            registry.room(of: id).map { log.displaced(id, room: $0.id) }
            seats.leave(id, .timeout)
        case .halfOpen(let id): endUnconnected(id)
        case .wait: break
        }
    }

    /// Removes a peer that did not connect in time. A participant with signalling may offer again; others leave.
    private func endUnconnected(_ id: String) {
        registry.endHalfOpen(id, unused: true)
        let member = registry.room(of: id)?.read { $0.room.member(id) } ?? nil
        if member?.staysWithoutMedia == true {
            media.peers.run(id) { host, now in if host.seat(id)?.isConnected == false { host.remove(id, at: now) } }
        } else {
            seats.leave(id, .timeout)
        }
    }
}
