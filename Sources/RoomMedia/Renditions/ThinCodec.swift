package import Basics
package import Peer

/// Decides where one peer gets AV1 in place of the codec that it got first: on thin lines, where the same bits show more,
/// and while the machine has the time, since it takes several times as much to encode.
///
/// A value, so that the simulations run the same rule as the rooms.
package struct ThinCodec: Sendable {
    /// A choice is made in AV1 once it has stood for so long: most joiners' estimates grow beyond it at once, and an
    /// encoder would begin for each of them.
    static let delay = Duration.seconds(2)
    /// A receiver that asks for so many keyframes …
    static let mostRepairs = 4
    /// … in this time, on a link that loses less than `repairedLoss`, cannot decode what it gets.
    static let repairPeriod = Duration.seconds(10)
    static let repairedLoss = 0.02

    /// Whether the peer's decoder takes AV1, and has not failed in this call.
    package private(set) var isOffered = false
    private var hasFailed = false
    /// Since when AV1 would be taken.
    private var fitsSince: Instant?
    private var repairs: [Instant] = []

    package init() {}

    /// Takes what an offer or answer says of the peer.
    package mutating func offer(_ isOffered: Bool) { self.isOffered = isOffered && !hasFailed }

    /// Whether the choice is made in AV1.
    ///
    /// - Parameters:
    ///   - isKnown: whether there is an estimate of the link.
    ///   - isBusy: whether the server saves work.
    package mutating func applies(
        to choice: RenditionSelector.Choice, in ladder: Ladder, isKnown: Bool, isBusy: Bool, at now: Instant
    ) -> Bool {
        guard isOffered, isKnown, !isBusy, ladder.thin != nil, Self.fits(choice, ladder) else {
            fitsSince = nil
            return false
        }
        let since = fitsSince ?? now
        fitsSince = since
        return now - since >= Self.delay
    }

    private static func fits(_ choice: RenditionSelector.Choice, _ ladder: Ladder) -> Bool {
        switch choice {
        case .rung(let index): index == ladder.rungs.count - 1
        case .stills, .rareStills: true
        case .audioOnly: false
        }
    }

    /// Notes that a keyframe was needed while the peer got AV1. Returns whether AV1 is over for this call.
    package mutating func repaired(for requester: KeyframeRequester, loss: Double, at now: Instant) -> Bool {
        // Our own sender asks where it has dropped frames, which says nothing of the decoder.
        guard requester == .peer, loss < Self.repairedLoss else { return false }
        repairs.removeAll { now - $0 >= Self.repairPeriod }
        repairs.append(now)
        guard repairs.count >= Self.mostRepairs else { return false }
        (hasFailed, isOffered) = (true, false)
        return true
    }
}
