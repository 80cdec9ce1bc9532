import Codecs

/// Makes one timeline that goes on out of a source's times, which start again: at a loop, after a pause of the sender,
/// when a counter overflows. A value.
struct MediaTimeline {
    /// A step back of more than this, or ahead of more than `gap`, is a new beginning: the times of one stream ascend.
    static let stepBack = Duration.milliseconds(500)
    static let gap = Duration.seconds(30)
    /// Where a packet has no duration, it lasts this long.
    private static let usualDuration = Duration.milliseconds(20)

    private struct Stream {
        /// On the new timeline.
        var last: Duration
    }

    private var shift: Duration = .zero
    /// Packets of the other stream may still be of the time before.
    private var earlierShift: Duration?
    private var streams: [DemuxedPacket.Kind: Stream] = [:]
    /// The end of what has come.
    private var end: Duration?
    private var restarts = false

    /// The source starts again from its beginning.
    mutating func restart() { restarts = true }

    /// The time of a packet on the timeline, and how far that is from the packet's own.
    ///
    /// - Parameter time: nil: the packet has none, and follows the one before.
    mutating func place(
        _ kind: DemuxedPacket.Kind, at time: Duration?, lasting duration: Duration
    ) -> (time: Duration, shift: Duration) {
        let lasting = duration > .zero && duration < Self.gap ? duration : Self.usualDuration
        let known = streams[kind]?.last
        let raw = time ?? ((known.map { $0 + lasting } ?? end ?? .zero) - shift)
        var placed = raw + shift
        if restarts {
            restarts = false
            begin(raw)
            placed = raw + shift
        } else if let known, !Self.follows(placed, known) {
            if let earlierShift, Self.follows(raw + earlierShift, known) {
                note(kind, raw + earlierShift, lasting)
                return (raw + earlierShift, earlierShift)
            }
            begin(raw)
            placed = raw + shift
        }
        note(kind, placed, lasting)
        return (placed, shift)
    }

    private static func follows(_ time: Duration, _ last: Duration) -> Bool {
        time - last > .zero - stepBack && time - last < gap
    }

    /// Puts `raw` at the end of what has come.
    private mutating func begin(_ raw: Duration) {
        earlierShift = shift
        shift = (end ?? raw) - raw
    }

    private mutating func note(_ kind: DemuxedPacket.Kind, _ time: Duration, _ lasting: Duration) {
        streams[kind] = Stream(last: time)
        end = max(end ?? time, time + lasting)
    }
}
