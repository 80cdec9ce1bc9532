import Basics

/// Frames that wait for the pacer; the queue is cut only between frames.
struct VideoSendQueue: Sendable {
    /// A queue is cut if its oldest frame is older than this …
    static let limit: Duration = .milliseconds(800)
    /// … but a keyframe on a thin link gets more time: a cut after it would require another one.
    static let keyframeLimit: Duration = .seconds(2)

    struct Entry: Sendable {
        var frame: PacketizedVideoFrame
        var codec: OutgoingCodec
        var queued: Instant
        /// The frame's timestamp, or a later one if it would not be after the previous frame's.
        var timestamp: Int64
        var nextFragment = 0
    }

    private var entries: [Entry] = []
    private(set) var bytes = 0

    var isEmpty: Bool { entries.isEmpty }
    var count: Int { entries.count }

    /// How long the oldest frame has waited.
    func delay(at now: Instant) -> Duration { entries.first.map { now - $0.queued } ?? .zero }

    /// Whether the oldest frame is too old to be worth sending.
    func isLate(at now: Instant) -> Bool {
        guard let first = entries.first else { return false }
        return now - first.queued > (first.frame.isKeyframe ? Self.keyframeLimit : Self.limit)
    }

    mutating func append(_ entry: Entry) {
        bytes += entry.frame.bytes.count
        entries.append(entry)
    }

    /// Removes every frame of which nothing was sent yet; returns their number.
    mutating func cut() -> Int {
        let started = entries.first.map { $0.nextFragment > 0 } ?? false
        let kept = started ? 1 : 0
        let removed = entries.count - kept
        guard removed > 0 else { return 0 }
        for entry in entries[kept...] { bytes -= entry.frame.bytes.count }
        entries.removeLast(removed)
        return removed
    }

    /// The next fragment, in order.
    mutating func takeFragment() -> (entry: Entry, fragment: Int, isLast: Bool)? {
        while let first = entries.first, first.frame.fragments.isEmpty { entries.removeFirst() }
        guard let entry = entries.first else { return nil }
        let fragment = entry.nextFragment
        let isLast = fragment + 1 == entry.frame.fragments.count
        bytes -= entry.frame.fragments[fragment].range.count
        if isLast {
            entries.removeFirst()
            if entries.isEmpty { bytes = 0 }
        } else {
            entries[0].nextFragment = fragment + 1
        }
        return (entry, fragment, isLast)
    }

    mutating func removeAll() {
        entries.removeAll()
        bytes = 0
    }
}
