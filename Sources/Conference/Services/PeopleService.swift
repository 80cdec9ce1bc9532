import Basics
import RoomMedia

/// Who is in a room, and who waits to be let in.
package final class PeopleService: Sendable {
    private let rooms: RoomService
    private let seats: SeatService
    private let peers: PeerService
    private let waits: WaitingService

    init(rooms: RoomService, seats: SeatService, peers: PeerService, waits: WaitingService) {
        self.rooms = rooms
        self.seats = seats
        self.peers = peers
        self.waits = waits
    }

    package func info(_ id: String, in room: String) throws(ConferenceError) -> ParticipantInfo {
        let found = rooms.registry[room]?.read { slot in slot.room.member(id).map { slot.room.info($0) } }
        guard let found else { throw .roomNotFound(room) }
        guard let found else { throw .participantNotFound(id) }
        return found
    }

    @discardableResult
    package func update(
        _ id: String, in room: String, _ change: ParticipantChange
    ) throws(ConferenceError) -> ParticipantInfo {
        try rooms.change(room) { slot throws(ConferenceError) in try slot.room.change(id, change) }
    }

    package func remove(_ id: String, in room: String) throws(ConferenceError) {
        _ = try info(id, in: room)
        seats.leave(id, .removed)
    }

    /// Those who wait to be let in, the first comer first.
    package func waiting(in room: String) throws(ConferenceError) -> [WaitingPerson] {
        guard let people = rooms.registry[room]?.read({ $0.room.waiting.people }) else { throw .roomNotFound(room) }
        return people
    }

    /// Decides about one who waits, for an administrator.
    package func decide(_ decision: WaitingDecision, about person: String, in room: String) throws(ConferenceError) {
        try rooms.change(room) { slot throws(ConferenceError) in
            switch decision {
            case .admit: try waits.decide(.admitted, person, in: &slot)
            case .refuse: try waits.decide(.refused, person, in: &slot)
            case .refuseAddress: try waits.refuseAddress(of: person, in: &slot)
            }
        }
    }

    package func statistics(_ id: String, in room: String) async throws(ConferenceError) -> ParticipantStatistics {
        _ = try info(id, in: room)
        guard let engine = rooms.registry[room]?.engine else { throw .roomNotFound(room) }
        return try await peers.statistics(id, engine)
    }
}
