import Synchronization

/// Whether a participant has left, for those who may not wait for the rooms' lock to ask.
///
/// Set before the loop is told to forget the peer: whoever makes a peer on the loop afterwards sees it, and a peer that
/// was made before is forgotten by what the loop was told.
final class SeatLife: Sendable {
    private let over = Atomic<Bool>(false)

    var isOver: Bool { over.load(ordering: .acquiring) }
    func end() { over.store(true, ordering: .releasing) }
}
