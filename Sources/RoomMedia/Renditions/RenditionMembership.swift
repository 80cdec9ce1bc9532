import Basics

/// Which rendition one peer gets, and how it comes from one to the next: what it has goes on until the next one's
/// keyframe is there, so that a move shows no freeze. A value without renditions, so that the simulations run the very
/// rule of the rooms.
package struct RenditionMembership<Key: Hashable & Sendable>: Sendable {
    /// What it gets now; nil: no picture.
    package private(set) var active: Key?
    /// What it will get from that one's next keyframe on. It is a member of both until then.
    package private(set) var pending: Key?

    package init() {}

    /// Everything that it is a member of.
    package var all: [Key] { [active, pending].compactMap { $0 } }

    /// The peer, which has joined `key`, is to get that; nil: no picture.
    ///
    /// - Returns: what it is a member of no more, and the rendition of which it needs a keyframe.
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

    /// Whether a frame of `key` goes to the peer; takes the step to the next rendition at its keyframe.
    ///
    /// - Returns: also what it is a member of no more.
    package mutating func takes(_ key: Key, isKeyframe: Bool) -> (takes: Bool, left: Key?) {
        if key == active { return (true, nil) }
        guard key == pending, isKeyframe else { return (false, nil) }
        defer {
            active = key
            pending = nil
        }
        return (true, active)
    }

    /// Its connection is lost. Returns what it is a member of no more.
    package mutating func leave() -> [Key] {
        defer { (active, pending) = (nil, nil) }
        return all
    }
}
