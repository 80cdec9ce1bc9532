import Basics

/// Compares the rooms that are at this node with those that the store says are its.
struct OwnedRooms: Sendable {
    enum Decision: Hashable, Sendable {
        /// Make the room this node's. `revision`: of the owner that is replaced, an older lease of this node; 0: none.
        case claim(String, revision: Int64)
        /// Another node has it.
        case lose(String)
        /// Nobody came, or the room has ended: it is given up, with its state if it has ended.
        case release(String, epoch: Int64, hasEnded: Bool)
    }

    /// How long a room that this node owns may have nobody there.
    static let unused = Duration.seconds(10)

    /// Rooms that were moved from here: their old seats end by themselves.
    private var moved: Set<String> = []
    /// Rooms that the host was told to end.
    private var lost: Set<String> = []
    /// Rooms that have ended here and whose owner may still be in the store.
    private var ended: Set<String> = []
    private var unusedSince: [String: BootInstant] = [:]

    mutating func move(_ room: String) { moved.insert(room) }
    mutating func lose(_ rooms: [String]) { lost.formUnion(rooms) }
    mutating func end(_ room: String) { ended.insert(room) }
    mutating func released(_ room: String) { ended.remove(room) }
    /// The room is this node's again.
    mutating func take(_ room: String) {
        moved.remove(room)
        lost.remove(room)
        ended.remove(room)
    }

    /// - Parameters:
    ///   - rooms: what is here.
    ///   - lease: this node's.
    mutating func reconcile(
        _ rooms: [String], with copy: StoreCopy, incarnation: String, lease: Int64, at now: BootInstant
    ) -> [Decision] {
        let here = Set(rooms)
        moved.formIntersection(here)
        lost.formIntersection(here)
        var decisions: [Decision] = []
        for room in rooms where !moved.contains(room) && !lost.contains(room) {
            guard let owner = copy.owners[room] else {
                decisions.append(.claim(room, revision: 0))
                continue
            }
            if owner.node != copy.id {
                decisions.append(.lose(room))
            } else if owner.incarnation != incarnation || owner.lease != lease {
                decisions.append(.claim(room, revision: owner.revision))
            }
        }
        var unused: [String: BootInstant] = [:]
        for (room, owner) in copy.owners
        where owner.node == copy.id && owner.incarnation == incarnation && !here.contains(room) {
            let (since, hasEnded) = (unusedSince[room] ?? now, ended.contains(room))
            if hasEnded || now - since >= Self.unused {
                decisions.append(.release(room, epoch: owner.revision, hasEnded: hasEnded))
            } else {
                unused[room] = since
            }
        }
        unusedSince = unused
        ended = ended.filter { copy.owners[$0]?.node == copy.id }
        return decisions
    }
}
