import Basics
import Peer

/// From a peer's counts to the state of its link: rates since the reading before, and whether anything changed.
struct LinkMeter {
    /// What the room's side knows of the link.
    struct Room {
        var estimate: BitRate
        var lossDown: Double
        var roundTrip: Duration
        var rung: Int
        var reason: LinkReason
        var mode: LinkMode
    }

    /// Video frames per second in the last period.
    private(set) var frameRates: (sent: Double, received: Double) = (0, 0)
    private var bytes: (sent: Int, received: Int) = (0, 0)
    private var frames: (sent: Int, received: Int) = (0, 0)
    private var sent = BitRate.zero
    private var received = BitRate.zero
    private var lossUp = 0.0
    private var reported: LinkState?

    /// Takes the counts at the end of a period of `elapsed`.
    mutating func measure(_ statistics: PeerStatistics, over elapsed: Duration) {
        let (bytes, frames) = (
            statistics.bytes,
            (sent: statistics.videoSent.counters.frames, received: statistics.videoReceived.frames)
        )
        sent = BitRate(bytes: max(0, bytes.sent - self.bytes.sent), in: elapsed)
        received = BitRate(bytes: max(0, bytes.received - self.bytes.received), in: elapsed)
        lossUp = statistics.lossUp
        frameRates = (
            Double(frames.sent - self.frames.sent) / elapsed.inSeconds,
            Double(frames.received - self.frames.received) / elapsed.inSeconds
        )
        (self.bytes, self.frames) = (bytes, frames)
    }

    /// The state of the link now; nil when it is the one that was reported last.
    mutating func report(_ room: Room) -> LinkState? {
        let link = LinkState(
            estimate: room.estimate, sent: sent, received: received, lossDown: room.lossDown, lossUp: lossUp,
            roundTrip: room.roundTrip, rung: room.rung, reason: room.reason, mode: room.mode)
        guard link != reported else { return nil }
        reported = link
        return link
    }
}
