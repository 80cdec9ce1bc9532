import Basics

/// The renditions that one peer is a member of, and its move from one to the next: the old one goes on until the new
/// one's keyframe, so that a move shows no freeze. A value without renditions, so that the simulations run the same
/// rule as the rooms.
package struct RenditionMembership<Key: Hashable & Sendable>: Sendable {
    /// The rendition that the peer gets now; nil: no picture.
    package private(set) var active: Key?
    /// The rendition that the peer will get from its next keyframe on. The peer is a member of both until then.
    package private(set) var pending: Key?
    /// The rendition that becomes active at its own next keyframe while the peer waits for the pending one's.
    package private(set) var bridge: Key?

    package init() {}

    /// All renditions that the peer is a member of.
    package var all: [Key] { [active, bridge, pending].compactMap { $0 } }

    /// Moves the peer, which has joined both, to the rendition `key`; nil: no picture.
    ///
    /// - Parameter bridge: what the peer gets until the keyframe of `key`; nil: what it has.
    /// - Returns: the renditions that the peer leaves.
    package mutating func choose(_ key: Key?, bridge: Key? = nil) -> [Key] {
        let before = all
        if key == nil { active = nil }
        let isMove = key != active
        pending = isMove ? key : nil
        self.bridge = isMove && bridge != active ? bridge : nil
        return left(of: before)
    }

    /// Returns whether a frame of `key` goes to the peer. A keyframe of the pending rendition makes that one active,
    /// and one of the bridge makes that one active until then.
    ///
    /// - Returns: also the renditions that the peer leaves.
    package mutating func accept(_ key: Key, isKeyframe: Bool) -> (isAccepted: Bool, left: [Key]) {
        if key == active { return (true, []) }
        guard isKeyframe, key == pending || key == bridge else { return (false, []) }
        let before = all
        if key == pending { pending = nil }
        (active, bridge) = (key, nil)
        return (true, left(of: before))
    }

    /// Leaves all renditions, after the loss of the connection, and returns them.
    package mutating func leave() -> [Key] { choose(nil) }

    private func left(of before: [Key]) -> [Key] { before.filter { !all.contains($0) } }
}
