import Basics
import Threads

/// What each peer cost its loop in the current turn.
struct TurnCharges {
    /// A turn that took longer than this may have waited for a processor: its peers are then charged by the thread's
    /// processor time.
    private static let preemptionThreshold = Duration.milliseconds(3)

    /// The number of the turn.
    private(set) var turn = 0
    private var spenders: [PeerSession] = []
    /// The thread's processor time at the end of the last turn, in nanoseconds.
    private var threadTime: Int64 = 0

    /// Adds a cost to what the peer has spent in this turn.
    mutating func add(_ cost: Duration, to peer: PeerSession) {
        if peer.spent == .zero { spenders.append(peer) }
        peer.spent += max(cost, .nanoseconds(1))
    }

    /// Ends a turn that took `wall` on the clock, and charges all peers for it. Returns the processor time since the
    /// last turn, and the peers that have used up their budget.
    mutating func endTurn(after wall: Duration, at now: Instant) -> (processor: Duration, exhausted: [PeerSession]) {
        let time = ThreadClock.nanoseconds()
        let processor = Duration.nanoseconds(time - threadTime)
        threadTime = time
        turn &+= 1
        let isPreempted = wall > Self.preemptionThreshold && processor < wall
        let share = isPreempted ? processor.inSeconds / wall.inSeconds : 1
        var exhausted: [PeerSession] = []
        for peer in spenders {
            if peer.loopBudget.charge(peer.spent * share, at: now) { exhausted.append(peer) }
            peer.spent = .zero
        }
        spenders.removeAll(keepingCapacity: true)
        return (processor, exhausted)
    }
}
