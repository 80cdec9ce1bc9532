import Basics

/// A decoded picture (or anything that stands for one) and when it was taken.
struct Timed<Content> {
    var content: Content
    /// In room time, by the sender's reports.
    var captureTime: Instant
    var arrival: Instant
}

/// Pictures that wait for the sound of the same moment, so that lips and voice agree.
///
/// Sound is played later than it arrives, to ride out jitter; a picture is due `lead` before the sound of its capture time is played. A
/// sender whose clocks disagree wildly is not waited for: no picture is held longer than `longestHold`.
struct PictureQueue<Content> {
    /// Above AudioReceiveBuffer's hard ceiling of 250 ms a hold means nonsense in the sender's reports.
    static var longestHold: Duration { .milliseconds(280) }
    static var limit: Int { 16 }
    /// A tick of 30 frames/s: the picture waits for the next one, and sound before its picture is noticed sooner than the other way
    /// round. So the picture is ahead by nothing to 33 ms, within the 45 that nobody sees.
    static var lead: Duration { .milliseconds(33) }

    private var waiting: [Timed<Content>] = []
    /// The last one that was due: shown until the next is.
    private(set) var current: Timed<Content>?
    /// Changes whenever `current` does.
    private(set) var generation: UInt64 = 0
    /// How many never were shown because a newer one was due too or too many waited.
    private(set) var skipped = 0

    mutating func insert(_ picture: Timed<Content>) {
        waiting.append(picture)
        if waiting.count > Self.limit {
            waiting.removeFirst()
            skipped += 1
        }
    }

    /// Moves on to the newest picture that is due. `soundDelay`: from capture to playing; nil: no sound to wait for.
    mutating func advance(to now: Instant, soundDelay: Duration?) {
        var last = -1
        for (index, picture) in waiting.enumerated() {
            let isDue = soundDelay.map { picture.captureTime + $0 - Self.lead <= now } ?? true
            if isDue || now - picture.arrival >= Self.longestHold { last = index }
        }
        guard last >= 0 else { return }
        current = waiting[last]
        generation &+= 1
        skipped += last
        waiting.removeFirst(last + 1)
    }

    mutating func removeAll() {
        if current != nil { generation &+= 1 }
        waiting.removeAll()
        current = nil
    }
}
