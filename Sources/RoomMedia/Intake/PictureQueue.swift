import Basics

/// A decoded picture (or anything that stands for one) and when it was taken.
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

/// Pictures that wait for the sound of the same moment, so that lips and voice agree.
///
/// Sound is played later than it arrives, to ride out jitter; a picture is due once the sound of its capture time is
/// played. A sender whose clocks disagree wildly is not waited for: no picture is held longer than `longestHold`.
package struct PictureQueue<Content> {
    /// Above AudioReceiveBuffer's hard ceiling of 250 ms a hold means nonsense in the sender's reports.
    static var longestHold: Duration { .milliseconds(280) }
    static var limit: Int { 16 }
    /// What may wait of one sender's pictures, in bytes: 16 pictures of 1920 × 1088. Of larger ones fewer wait.
    static var byteLimit: Int { 16 * 1920 * 1088 * 3 / 2 }
    /// A picture stands for the time until the sender's next one and is shown for a whole tick: half of each, 33 ms at
    /// 30 a second, is what it may be early, so that a movement is seen neither before nor after it is heard, on
    /// average. The rest is a lead: light is ahead of sound in life too (ITU-R BT.1359: 45 ms of sound ahead are seen,
    /// but only 125 ms of sound behind), and the delay is everybody's.
    static var lead: Duration { .milliseconds(38) }

    /// How many pictures of so many bytes wait at most.
    static func limit(of bytes: Int) -> Int { bytes > 0 ? min(limit, max(2, byteLimit / bytes)) : limit }

    private var waiting: [Timed<Content>] = []
    /// The last one that was due: shown until the next is.
    package private(set) var current: Timed<Content>?
    /// Changes whenever `current` does.
    package private(set) var generation: UInt64 = 0
    /// How many never were shown because a newer one was due too or too many waited.
    private(set) var skipped = 0

    package init() {}

    /// - Parameter bytes: what the picture's memory takes; those that wait are taken to be as large.
    package mutating func insert(_ picture: Timed<Content>, bytes: Int = 0) {
        waiting.append(picture)
        while waiting.count > Self.limit(of: bytes) {
            waiting.removeFirst()
            skipped += 1
        }
    }

    /// Moves on to the newest picture that is due. `audioDelay`: from capture to playing; nil: no sound to wait for.
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

    /// Forgets what waits; what is shown stays.
    mutating func removeWaiting() { waiting.removeAll() }

    mutating func removeAll() {
        if current != nil { generation &+= 1 }
        waiting.removeAll()
        current = nil
    }
}
