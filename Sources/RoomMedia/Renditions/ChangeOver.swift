package import Basics

/// Decides how a peer changes over to a rendition that others take already.
///
/// The peer needs a keyframe, and each of the others pays for it with the quality of its next pictures. So the peer
/// waits for one that several share (`RenditionControl`), and meanwhile gets the joining rendition, whose keyframes
/// cost only others who wait too. A value without renditions, so that the simulations run the same rule as the rooms.
package struct ChangeOver: Sendable {
    package enum Way: Hashable, Sendable {
        /// The rendition makes a keyframe at once.
        case force
        /// The peer waits with what it has.
        case wait
        /// The peer gets the joining rendition meanwhile.
        case bridge
    }

    /// A rendition without its members.
    package struct Source: Hashable, Sendable {
        package var kind: RenditionKind
        package var rung: Ladder.Rung

        package init(_ kind: RenditionKind, _ rung: Ladder.Rung) {
            self.kind = kind
            self.rung = rung
        }
    }

    /// A shorter wait is not worth an encoder of its own.
    static let shortWait = Duration.milliseconds(250)

    /// What the peer gets now of the same view; nil: no picture, or none that goes on.
    private let shown: Source?
    private let wanted: Source
    private let joining: Ladder.Rung
    private let isOverloaded: Bool

    /// - Parameter isOverloaded: whether the server has nothing left for a joining rendition.
    package init(from shown: Source?, to wanted: Source, joining: Ladder.Rung, isOverloaded: Bool) {
        self.shown = shown
        self.wanted = wanted
        self.joining = joining
        self.isOverloaded = isOverloaded
    }

    /// - Parameters:
    ///   - wait: the time to the keyframe that the newcomers of the wanted rendition share.
    ///   - budget: what the peer's link leaves for video; nil: not yet known.
    package func way(wait: Duration, budget: BitRate?) -> Way {
        // A still is a keyframe anyway, and the link of its peer carries nothing else.
        if isOverloaded || wanted.kind == .stills || isDown { return .force }
        if wait <= Self.shortWait { return .wait }
        let isCarried = budget.map { $0 >= joining.leastBitRate } ?? true
        guard let shown else { return isCarried ? .bridge : .force }
        return isCarried && shown.kind != .stills && shown.rung.pixels < joining.pixels ? .bridge : .wait
    }

    /// Whether the link does not carry what the peer gets: each further frame of that would delay the audio. The
    /// joining rendition's rate follows its members' links.
    private var isDown: Bool {
        guard let shown, shown.kind != .joining else { return false }
        return shown.rung.bitRate > wanted.rung.bitRate || shown.rung.pixels > wanted.rung.pixels
    }
}
