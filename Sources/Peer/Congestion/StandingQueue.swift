import Basics

/// How long packets wait on the line now, against the fastest of the last while.
///
/// The trendline sees a queue grow; one that is full stands still and looks like a longer line. This one sees it, and
/// it tells small bursts, which a keyframe makes on every line, from a queue that matters.
struct StandingQueue: Sendable {
    /// The fastest packet of this time stands for an empty queue.
    static let window: Duration = .seconds(10)
    /// Below this a rising delay is a burst that drains by itself.
    static let harmless: Duration = .milliseconds(20)
    /// Above this, or 1.5 full packets on a thin line, the line is overused whatever the trend.
    static let limit: Duration = .milliseconds(120)
    static let packet = 1200
    /// A cut needs time to show.
    static let patience: Duration = .milliseconds(300)
    /// So many cuts in a row that changed nothing: the way has become longer, the queue is none.
    static let futileCuts = 4

    private var fastest = SlidingMinimum()
    private var lastCut: (queue: Duration, at: Instant)?
    private var futile = 0
    /// Of the newest report: its fastest packet, so that jitter reads as little as can be.
    private(set) var delay: Duration = .zero
    private var ofReport: Int64?
    /// Arrival less sending of the fastest packet of the window, in nanoseconds: two clocks' difference and the empty
    /// line's delay.
    var fastestWay: Int64? { fastest.value }

    mutating func add(sent: Instant, arrival: Duration) {
        let offset = arrival.nanoseconds &- sent.nanoseconds
        fastest.insert(offset, at: sent, window: Self.window)
        let own = offset &- (fastest.value ?? offset)
        ofReport = min(ofReport ?? own, own)
    }

    /// A report is complete; whether what waits calls for a cut.
    mutating func endReport(rate: Double, at now: Instant) -> Bool {
        guard let newest = ofReport else { return false }
        ofReport = nil
        delay = .nanoseconds(newest)
        let packet = Duration.nanoseconds(Int64(saturating: 1.5 * Double(Self.packet) * 8e9 / max(rate, 10_000)))
        guard delay > max(Self.limit, packet) else {
            futile = 0
            lastCut = nil
            return false
        }
        if let lastCut {
            guard now - lastCut.at >= Self.patience else { return false }
            if delay < lastCut.queue * 0.9 {
                // It drains.
                self.lastCut = (delay, now)
                futile = 0
                return false
            }
            futile += 1
        }
        if futile >= Self.futileCuts {
            fastest = SlidingMinimum()
            futile = 0
            lastCut = nil
            return false
        }
        lastCut = (delay, now)
        return true
    }
}
