import Basics

/// The renditions that one peer is a member of, and its move from one to the next: the old one goes on until the new
/// one's keyframe, so that a move shows no freeze. A value without renditions, so that the simulations run the same
/// rule as the rooms.
package struct RenditionMembership<Key: Hashable & Sendable>: Sendable {
    /// The rendition that the peer gets now; nil: no picture.
    package private(set) var active: Key?
    /// The rendition that the peer will get from its next keyframe on. The peer is a member of both until then.
    package private(set) var pending: Key?

    package init() {}

    /// All renditions that the peer is a member of.
    package var all: [Key] { [active, pending].compactMap { $0 } }

    /// Moves the peer, which has joined `key`, to that rendition; nil: no picture.
    ///
    /// - Returns: the renditions that the peer leaves, and the one of which it needs a keyframe.
    package mutating func choose(_ key: Key?) -> (left: [Key], awaited: Key?) {
        var left: [Key] = []
        if let pending, pending != key { left.append(pending) }
        pending = nil
        if key == active { return (left, nil) }
        guard let key else {
            if let active { left.append(active) }
            active = nil
            return (left, nil)
        }
        pending = key
        return (left, key)
    }

    /// Returns whether a frame of `key` goes to the peer. A keyframe of the pending rendition makes that one active.
    ///
    /// - Returns: also the rendition that the peer leaves.
    package mutating func accept(_ key: Key, isKeyframe: Bool) -> (isAccepted: Bool, left: Key?) {
        if key == active { return (true, nil) }
        guard key == pending, isKeyframe else { return (false, nil) }
        defer {
            active = key
            pending = nil
        }
        return (true, active)
    }

    /// Leaves all renditions, after the loss of the connection, and returns them.
    package mutating func leave() -> [Key] {
        defer { (active, pending) = (nil, nil) }
        return all
    }
}
