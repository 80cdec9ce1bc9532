import Basics
import Peer

/// From a peer's counts to the state of its link: rates since the reading before, and whether anything changed.
struct LinkMeter {
    /// Video frames per second in the last period.
    private(set) var frameRates: (sent: Double, received: Double) = (0, 0)
    private var bytes: (sent: Int, received: Int) = (0, 0)
    private var frames: (sent: Int, received: Int) = (0, 0)
    /// The link as measured; what only the peer's owner knows is empty.
    private(set) var measured = LinkState(
        estimate: .zero, sent: .zero, received: .zero, lossDown: 0, lossUp: 0, roundTrip: .zero, rung: 0, reason: .none)
    private var reported: LinkState?
    /// The last state was not reported, since it differed little.
    private var isHeldBack = false
    /// The highest counts so far, for the room's quality.
    private var counted = MediaQuality.Link()

    /// Takes the counts at the end of a period of `elapsed`. Returns what was added in the period.
    mutating func measure(_ statistics: PeerStatistics, over elapsed: Duration) -> MediaQuality.Link {
        let (bytes, frames) = (
            statistics.bytes,
            (sent: statistics.videoSent.counters.frames, received: statistics.videoReceived.frames)
        )
        measured.sent = BitRate(bytes: max(0, bytes.sent - self.bytes.sent), in: elapsed)
        measured.received = BitRate(bytes: max(0, bytes.received - self.bytes.received), in: elapsed)
        measured.lossUp = statistics.lossUp
        measured.asked = statistics.receiveLimit
        frameRates = (
            Double(frames.sent - self.frames.sent) / elapsed.inSeconds,
            Double(frames.received - self.frames.received) / elapsed.inSeconds
        )
        (self.bytes, self.frames) = (bytes, frames)
        return count(statistics)
    }

    /// Returns what was added since the last call.
    mutating func count(_ statistics: PeerStatistics) -> MediaQuality.Link {
        let link = statistics.link
        defer { counted = link.highest(with: counted) }
        return link.since(counted)
    }

    /// Returns the state of the link; nil when it is the one that was reported last, and every second time when it differs
    /// from that by what nobody would notice: on a thin line a report takes the place of speech.
    mutating func report(_ link: LinkState) -> LinkState? {
        guard link != reported else { return nil }
        if let reported, !isHeldBack, link.resembles(reported) {
            isHeldBack = true
            return nil
        }
        (reported, isHeldBack) = (link, false)
        return link
    }
}
