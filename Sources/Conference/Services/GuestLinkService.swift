import Basics
import FoundationEssentials
import Threads

/// The links by which guests come into rooms.
package final class GuestLinkService: Sendable {
    private let rooms: RoomService
    private let seats: SeatService

    init(rooms: RoomService, seats: SeatService) {
        self.rooms = rooms
        self.seats = seats
    }

    /// The guest links of a room that are good, the oldest first.
    ///
    /// - Parameter participant: who asks, and must be a moderator; nil: an administrator.
    package func list(of room: String, for participant: String?) throws(ConferenceError) -> [GuestLink] {
        let links = try rooms.registry[room]?.read { slot throws(ConferenceError) in
            try slot.room.requireInviting(participant)
            return slot.room.links.good(at: Date())
        }
        guard let links else { throw .roomNotFound(room) }
        return links
    }

    package func make(
        _ wish: GuestLinkRequest, in room: String, for participant: String?
    ) throws(ConferenceError) -> GuestLink {
        if let participant { try seats.allow(.moderation, participant) }
        return try rooms.change(room) { slot throws(ConferenceError) in
            try slot.room.requireInviting(participant)
            return try slot.room.makeLink(wish, at: Date())
        }
    }

    package func revoke(_ id: String, in room: String, for participant: String?) throws(ConferenceError) {
        if let participant { try seats.allow(.moderation, participant) }
        try rooms.change(room) { slot throws(ConferenceError) in
            try slot.room.requireInviting(participant)
            try slot.room.revokeLink(id, at: Date())
        }
    }

    /// Whether a guest link of a room that this server knows is good no more.
    package func isRevoked(_ id: String, of room: String) -> Bool {
        let known =
            rooms.registry[room]?.read(\.room.links) ?? rooms.registry.kept(room, at: MonotonicClock.now())?.room.links
        return known.map { links in !links.good(at: Date()).contains { $0.id == id } } ?? false
    }
}
