package import Basics

/// A decoded picture (or a stand-in for one) with its capture and arrival times.
package struct Timed<Content> {
    package var content: Content
    /// In room time, by the sender's reports.
    package var captureTime: Instant
    package var arrival: Instant

    package init(content: Content, captureTime: Instant, arrival: Instant) {
        self.content = content
        self.captureTime = captureTime
        self.arrival = arrival
    }
}

/// Holds pictures until the audio of the same moment is played, so that lips and voice agree.
///
/// A jitter buffer plays audio later than it arrives; a picture is due once the audio of its capture time is played.
/// Contradictory clocks of a sender cannot stop its pictures: none is held longer than `longestHold`.
package struct PictureQueue<Content> {
    /// AudioReceiveBuffer delays by 250 ms at most, so a longer hold means wrong sender reports.
    static var longestHold: Duration { .milliseconds(280) }
    static var limit: Int { 16 }
    /// The memory of one sender's waiting pictures, in bytes: 16 pictures of 1920 × 1088, and fewer larger ones.
    static var byteLimit: Int { 16 * 1920 * 1088 * 3 / 2 }
    /// A picture stands for the time until the sender's next one and is shown for a whole tick: half of each, 33 ms at
    /// 30 a second, is what it may be early, so that a movement is seen neither before nor after it is heard, on
    /// average. The other 5 ms are a true lead of the picture, which viewers notice less (ITU-R BT.1359: audio that is
    /// 45 ms ahead is noticed, audio behind only from 125 ms), and which shortens everybody's delay.
    static var lead: Duration { .milliseconds(38) }

    /// The most pictures of `bytes` each that wait.
    static func limit(of bytes: Int) -> Int { bytes > 0 ? min(limit, max(2, byteLimit / bytes)) : limit }

    private var waiting: [Timed<Content>] = []
    /// The latest due picture: shown until the next one is due.
    package private(set) var current: Timed<Content>?
    /// Changes whenever `current` does.
    package private(set) var generation: UInt64 = 0
    /// Pictures that were never shown, since a newer one was due too or too many waited.
    private(set) var skipped = 0

    package init() {}

    /// - Parameter bytes: the picture's memory; the waiting pictures are assumed to be as large.
    package mutating func insert(_ picture: Timed<Content>, bytes: Int = 0) {
        waiting.append(picture)
        while waiting.count > Self.limit(of: bytes) {
            waiting.removeFirst()
            skipped += 1
        }
    }

    /// Makes the newest due picture current. `audioDelay`: from capture to playout; nil: there is no audio to wait for.
    package mutating func advance(to now: Instant, audioDelay: Duration?) {
        var last = -1
        for (index, picture) in waiting.enumerated() {
            let isDue = audioDelay.map { picture.captureTime + $0 - Self.lead <= now } ?? true
            if isDue || now - picture.arrival >= Self.longestHold { last = index }
        }
        guard last >= 0 else { return }
        current = waiting[last]
        generation &+= 1
        skipped += last
        waiting.removeFirst(last + 1)
    }

    /// Drops the waiting pictures; the current one stays.
    mutating func removeWaiting() { waiting.removeAll() }

    mutating func removeAll() {
        if current != nil { generation &+= 1 }
        waiting.removeAll()
        current = nil
    }
}
