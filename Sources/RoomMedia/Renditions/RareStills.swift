package import Basics

/// Which of a rendition's stills go to a peer whose link carries only some of them. A value without renditions, so that
/// the simulations run the same rule as the rooms.
package struct RareStills: Sendable {
    /// A little less than twice the time between stills: every second one.
    package static let interval = Ladder.stillInterval * 1.8

    private var last: Instant?

    package init() {}

    /// Whether a still goes to the peer; the first one does.
    package mutating func admits(at now: Instant) -> Bool {
        if let last, now - last < Self.interval { return false }
        last = now
        return true
    }
}
