import Basics

/// How long to wait for a missing packet before the stream continues without it.
struct RepairDeadline: Sendable {
    private let configuration: VideoReceiveConfiguration
    private(set) var roundTrip: Duration = .milliseconds(100)
    /// When the last requested packet came, and when it was found missing.
    private var lastRepair: (at: Instant, noticed: Instant)?
    /// The gap for which a keyframe was requested while its repair is still possible.
    private var hedged: Int64?

    init(_ configuration: VideoReceiveConfiguration) {
        self.configuration = configuration
    }

    mutating func setRoundTrip(_ roundTrip: Duration) { self.roundTrip = roundTrip }

    /// Records that a requested packet came, which had been found missing at `noticed`.
    mutating func repaired(noticed: Instant, at now: Instant) { lastRepair = (now, noticed) }

    /// How long to wait for a gap: long enough for five requests, within the limits. At 10 % loss each way one request
    /// in five fails, and a keyframe would take a round trip too and lose packets of its own.
    func hold(reorderDelay: Duration) -> Duration {
        let wanted = max(configuration.minimumHold, roundTrip * 5 + .milliseconds(40)) + reorderDelay
        let limit = min(max(configuration.maximumHold, roundTrip * 2.5), configuration.maximumHoldOnLongPaths)
        return min(wanted, limit)
    }

    /// When a gap is abandoned. While the repairs of its burst still come, at the pace of the sender, the rest of them
    /// arrives sooner than a keyframe would.
    func deadline(of gap: NackList.Entry, reorderDelay: Duration) -> Instant {
        let deadline = gap.noticed + hold(reorderDelay: reorderDelay)
        guard let lastRepair, lastRepair.noticed == gap.noticed else { return deadline }
        return max(deadline, min(lastRepair.at + roundTrip, gap.noticed + configuration.maximumHoldOnLongPaths))
    }

    /// When a keyframe is requested beside the repair: a gap's first repair has failed and there is no time for a
    /// third. Whichever comes first ends the gap; waiting for the deadline would add a round trip to the freeze.
    func hedge(of gap: NackList.Entry, reorderDelay: Duration) -> Instant? {
        guard hold(reorderDelay: reorderDelay) < reorderDelay + roundTrip * 3, gap.sequence != hedged else {
            return nil
        }
        return gap.noticed + reorderDelay + roundTrip * 1.25
    }

    /// Records that a keyframe was requested beside the repair of a gap.
    mutating func hedged(_ gap: NackList.Entry) { hedged = gap.sequence }
}
