import Synchronization

/// Whether a participant has left, for the loops, which may not wait for a room's lock.
///
/// Set before the loop gets the order to remove the peer: a request that creates a peer on the loop after that order
/// sees the end, and a peer that was created before is removed by the order.
final class SeatLiveness: Sendable {
    private let over = Atomic<Bool>(false)

    var isOver: Bool { over.load(ordering: .acquiring) }
    func end() { over.store(true, ordering: .releasing) }
}
