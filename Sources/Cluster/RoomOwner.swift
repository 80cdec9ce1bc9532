/// Who has a room: the key `owners/<room>`, which goes with its node's lease.
package struct RoomOwner: Hashable, Sendable {
    package var node: NodeRecord
    /// The revision at which the store last wrote the key: a later owner of the room has a higher one, unless the store
    /// has lost its data meanwhile. A node that registers anew keeps its rooms with a higher one too.
    package var epoch: Int64
    /// Whether this is the asking node itself.
    package var isHere: Bool

    package init(node: NodeRecord, epoch: Int64, isHere: Bool) {
        self.node = node
        self.epoch = epoch
        self.isHere = isHere
    }
}

/// Where a new room is placed.
package enum PlacementWish: Hashable, Sendable {
    /// On the better of two random nodes of the zone that have room left.
    case best
    /// On this node: for rooms whose client cannot be proxied.
    case here
}

package enum ClusterError: Error, Hashable, Sendable {
    /// Nothing can be placed now: the store does not answer, or this node is not sure of its lease.
    case unavailable
    /// Every node is full or draining.
    case full
    /// The owner answers no more and its lease still runs: a new try in a second finds out more.
    case ownerLost
    /// What is stored of the room cannot be read: it stays closed for a while, since it may have had a PIN or a lock.
    case closed
}
