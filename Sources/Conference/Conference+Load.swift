import Basics
import RoomMedia

/// What the whole server has and can take.
extension Conference {
    package var isDraining: Bool { registry.isDraining }
    /// Whether new rooms are refused.
    package var isOverloaded: Bool { media.overload.refusesRooms }

    /// How much of the server's capacity is used, from 0 to 1: the larger of the shares of the encoder threads and of the
    /// busiest network loop.
    package var usedCapacity: Double { capacity.withLock { $0.used } }
    /// Whether a new room would be refused now.
    package var isFull: Bool { isDraining || isOverloaded || registry.isFull }
    /// Participants and viewers in all rooms.
    package var seatCount: Int { registry.seatCount }
}
