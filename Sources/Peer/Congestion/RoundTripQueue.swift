import Basics

/// How long what we send waits on the way, as far as a peer's round trips tell.
///
/// A single one tells little: a receiver on a busy machine (aiortc's one loop stands still for 50 to 500 ms now and
/// then) takes a sender report late out of its socket, and what it answers looks like a queue. A queue stands while
/// such answers come and go, so the *lowest* of the newest samples is judged, of two where answers come evenly, of
/// three where single ones are known to be late. One sample is what one sender report showed: aiortc answers each
/// twice, for sound and picture, with the same lateness.
struct RoundTripQueue: Sendable {
    /// The shortest way is looked for in so much time …
    static let memory: Duration = .seconds(10)
    /// … and in so many samples at least: some peers report each five seconds.
    static let fewest = 6
    static let most = 32
    /// A sample that lies so far above both its neighbours was answered late …
    static let late: Duration = .milliseconds(60)
    /// … and the peer is known to do so for this long.
    static let lateMemory: Duration = .seconds(60)
    /// So many samples must agree that there is a queue …
    static let agreeing = 2
    /// … of a peer that answers late.
    static let agreeingOfLate = 3
    /// … and have come over this time at least: after the start reports are closer together than a late receiver is
    /// late.
    static let span: Duration = .milliseconds(400)

    private var samples: [(report: UInt32, value: Duration, at: Instant)] = []
    private var lateUntil: Instant?
    private(set) var answersLate = false

    /// - Parameters:
    ///   - sample: a round trip.
    ///   - report: which of our sender reports showed it.
    ///   - now: when the answer came.
    mutating func add(_ sample: Duration, of report: UInt32, at now: Instant) {
        if let last = samples.indices.last, samples[last].report == report {
            samples[last].value = min(samples[last].value, sample)
            return
        }
        samples.append((report, sample, now))
        let count = samples.count
        if count >= 3, samples[count - 2].value - max(samples[count - 3].value, sample) > Self.late {
            lateUntil = now + Self.lateMemory
        }
        answersLate = lateUntil.map { now < $0 } ?? false
        while samples.count > Self.fewest, now - samples[0].at > Self.memory || samples.count > Self.most {
            samples.removeFirst()
        }
    }

    private var shortest: Duration { samples.lazy.map(\.value).min() ?? .zero }

    /// The newest sample alone, above the shortest.
    var newest: Duration { (samples.last?.value ?? .zero) - shortest }

    /// What all the newest samples agree to be above the shortest.
    var standing: Duration {
        guard let newest = samples.last else { return .zero }
        let needed = answersLate ? Self.agreeingOfLate : Self.agreeing
        var lowest = newest.value
        var agreeing = 0
        for sample in samples.reversed() {
            lowest = min(lowest, sample.value)
            agreeing += 1
            if agreeing >= needed, newest.at - sample.at >= Self.span { return lowest - shortest }
        }
        return .zero
    }

    /// Whether anything was told lately.
    func isKnown(at now: Instant) -> Bool { samples.last.map { now - $0.at <= Self.memory } ?? false }
}
