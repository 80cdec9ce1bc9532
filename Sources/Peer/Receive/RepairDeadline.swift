import Basics

/// How long a missing packet is waited for before the stream goes on without it.
struct RepairDeadline: Sendable {
    private let configuration: VideoReceiveConfiguration
    private(set) var roundTrip: Duration = .milliseconds(100)
    /// When the last packet came that had been asked for, and when it was found missing.
    private var lastRepair: (at: Instant, noticed: Instant)?
    /// The gap for which a keyframe was asked while it may still be mended.
    private var hedged: Int64?

    init(_ configuration: VideoReceiveConfiguration) {
        self.configuration = configuration
    }

    mutating func setRoundTrip(_ roundTrip: Duration) { self.roundTrip = roundTrip }

    /// A packet came that had been asked for, and that had been found missing at `noticed`.
    mutating func repaired(noticed: Instant, at now: Instant) { lastRepair = (now, noticed) }

    /// How long a gap may be waited for: long enough for five tries, within the limits. At 10 % loss each way a try
    /// fails once in five, and a keyframe would take a round trip too and lose packets of its own.
    func hold(reorderDelay: Duration) -> Duration {
        let wanted = max(configuration.minimumHold, roundTrip * 5 + .milliseconds(40)) + reorderDelay
        let limit = min(max(configuration.maximumHold, roundTrip * 2.5), configuration.maximumHoldOnLongPaths)
        return min(wanted, limit)
    }

    /// When a gap is given up. As long as the repairs of its burst come in, one after another as the sender's pacing
    /// lets them go, the rest of them is there sooner than a keyframe.
    func deadline(of gap: NackList.Entry, reorderDelay: Duration) -> Instant {
        let deadline = gap.noticed + hold(reorderDelay: reorderDelay)
        guard let lastRepair, lastRepair.noticed == gap.noticed else { return deadline }
        return max(deadline, min(lastRepair.at + roundTrip, gap.noticed + configuration.maximumHoldOnLongPaths))
    }

    /// When a gap's first repair has failed and there is no time for a third: the keyframe that may be needed then is
    /// asked for at once, and whichever comes first goes on. Waiting first would add a round trip to the freeze.
    func hedge(of gap: NackList.Entry, reorderDelay: Duration) -> Instant? {
        guard hold(reorderDelay: reorderDelay) < reorderDelay + roundTrip * 3, gap.sequence != hedged else {
            return nil
        }
        return gap.noticed + reorderDelay + roundTrip * 1.25
    }

    /// A keyframe is asked for beside the repair of a gap.
    mutating func hedged(_ gap: NackList.Entry) { hedged = gap.sequence }
}
