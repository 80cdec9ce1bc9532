import Basics

/// How long packets wait on the link now, compared with the fastest packet of the last seconds.
///
/// The trendline sees a queue grow; a queue that is full no longer grows and looks like a longer link. This estimator
/// sees it, and distinguishes small bursts, which a keyframe causes on every link, from a queue that matters.
struct StandingQueue: Sendable {
    /// The fastest packet of this time stands for an empty queue.
    static let window: Duration = .seconds(10)
    /// Below this a rising delay is a burst that drains by itself.
    static let harmless: Duration = .milliseconds(20)
    /// Above this, or 1.5 of the largest packets on a thin link, the link is overused whatever the trend.
    static let limit: Duration = .milliseconds(120)
    static let packets = 1.5
    /// The time that a cut needs to show.
    static let cutInterval: Duration = .milliseconds(300)
    /// After so many cuts in a row that changed nothing the path has become longer, and there is no queue.
    static let futileCuts = 4

    private var fastest = SlidingMinimum()
    /// The largest packet of the window: its size, negative. Stills go out in small packets.
    private var largest = SlidingMinimum()
    private var lastCut: (queue: Duration, at: Instant)?
    private var futile = 0
    /// The delay of the newest report's fastest packet, so that jitter contributes as little as possible.
    private(set) var delay: Duration = .zero
    private var ofReport: Int64?
    /// Arrival minus sending time of the fastest packet of the window, in nanoseconds: the difference of the two clocks
    /// and the empty link's delay.
    var fastestWay: Int64? { fastest.value }

    mutating func add(size: Int, sent: Instant, arrival: Duration) {
        largest.insert(-Int64(size), at: sent, window: Self.window)
        let offset = arrival.nanoseconds &- sent.nanoseconds
        fastest.insert(offset, at: sent, window: Self.window)
        let own = offset &- (fastest.value ?? offset)
        ofReport = min(ofReport ?? own, own)
    }

    /// Completes a report; returns whether the queue calls for a cut.
    mutating func endReport(rate: Double, at now: Instant) -> Bool {
        guard let newest = ofReport else { return false }
        ofReport = nil
        delay = .nanoseconds(newest)
        let bits = Double(-(largest.value ?? 0)) * 8
        let packets = Duration.nanoseconds(Int64(saturating: Self.packets * bits * 1e9 / max(rate, 10_000)))
        guard delay > max(Self.limit, packets) else {
            futile = 0
            lastCut = nil
            return false
        }
        if let lastCut {
            guard now - lastCut.at >= Self.cutInterval else { return false }
            if delay < lastCut.queue * 0.9 {
                // The queue drains.
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
