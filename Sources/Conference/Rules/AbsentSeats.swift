import Basics

/// The seats whose clients may come back by their tickets, and the ids of those that may not. A value, which stays empty
/// where secrets are no tickets.
struct AbsentSeats: Hashable, Sendable {
    /// The most seats, and the most ids; the oldest are forgotten.
    static let limit = 1024

    /// The oldest first.
    private(set) var seats: [RoomState.Seat] = []
    /// Who was removed, or has left: their tickets are void.
    private(set) var gone: [String] = []
    /// Those of a room that came here with its people, until `expectedUntil`.
    private(set) var expected: Set<String> = []
    private(set) var expectedUntil: Instant?

    init() {}

    /// Of a room that comes from another server: everyone is expected until `limit`.
    init(_ state: RoomState, until limit: Instant) {
        seats = Array(state.seats.prefix(Self.limit))
        for index in seats.indices { seats[index].order = index }
        gone = Array(state.gone.suffix(Self.limit))
        expected = Set(seats.map(\.id))
        expectedUntil = expected.isEmpty ? nil : limit
    }

    func seat(_ id: String) -> RoomState.Seat? { seats.first { $0.id == id } }
    func isGone(_ id: String) -> Bool { gone.contains(id) }
    var expectsModerator: Bool { seats.contains { $0.role == .moderator && expected.contains($0.id) } }

    /// Takes the seat of a client that is back.
    mutating func take(_ id: String) -> RoomState.Seat? {
        expected.remove(id)
        if expected.isEmpty { expectedUntil = nil }
        guard let index = seats.firstIndex(where: { $0.id == id }) else { return nil }
        return seats.remove(at: index)
    }

    mutating func keep(_ seat: RoomState.Seat) {
        seats.append(seat)
        seats.removeFirst(max(0, seats.count - Self.limit))
    }

    /// Makes the ticket of a seat void.
    mutating func void(_ id: String) {
        _ = take(id)
        gone.append(id)
        gone.removeFirst(max(0, gone.count - Self.limit))
    }

    /// Expects nobody any more. Returns who has not come back; their tickets stay good.
    mutating func endExpecting() -> Set<String> {
        defer { (expected, expectedUntil) = ([], nil) }
        return expected
    }

    mutating func clear() { self = AbsentSeats() }
}
