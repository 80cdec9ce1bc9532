package import Basics

/// Decides whether one peer takes a participant's frames as they came in place of the mix: where its link carries what a
/// camera sends, and loses little of it, since each frame that it misses costs the sender a keyframe.
///
/// A value, so that tests run it in simulated time.
package struct ForwardingChoice: Sendable {
    /// A link that leaves so much for video may begin with it, and stays with it down to `leastBudget`. Below, the mix
    /// shows more for the same bits.
    static let (budget, leastBudget) = (BitRate.kilobits(350), BitRate.kilobits(250))
    static let (loss, mostLoss) = (0.05, 0.1)
    /// A peer that needed so many keyframes …
    static let mostRepairs = 4
    /// … in this time gets the mix …
    static let repairPeriod = Duration.seconds(10)
    /// … for so long.
    static let pause = Duration.seconds(30)

    private(set) var isTaken = false
    private var repairs: [Instant] = []
    private var pausedUntil = Instant.distantPast

    package init() {}

    /// Whether the peer takes what is offered.
    ///
    /// - Parameters:
    ///   - isOffered: whether there is a picture in a codec that the peer decodes.
    ///   - rung: of the ladder, which its link carries; nil: stills or audio alone.
    ///   - isShared: whether others may take the picture too: the sender would send all of them what the weakest line
    ///     carries, so only those take it who would get the top rung.
    ///   - budget: what its link leaves for video; nil: not yet known.
    package mutating func takes(
        isOffered: Bool, rung: Int?, isShared: Bool, budget: BitRate?, loss: Double, at now: Instant
    ) -> Bool {
        let isCarried = isShared ? rung == 0 : rung != nil
        let (least, most) = isTaken ? (Self.leastBudget, Self.mostLoss) : (Self.budget, Self.loss)
        isTaken = isOffered && isCarried && now >= pausedUntil && budget.map { $0 >= least } ?? false && loss <= most
        return isTaken
    }

    /// Notes that a keyframe was needed while the peer took it. Returns whether the peer gets the mix from now on.
    package mutating func repaired(at now: Instant) -> Bool {
        repairs.removeAll { now - $0 >= Self.repairPeriod }
        repairs.append(now)
        guard repairs.count >= Self.mostRepairs else { return false }
        repairs.removeAll()
        pausedUntil = now + Self.pause
        return true
    }
}
