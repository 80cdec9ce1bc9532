import Basics

/// Estimates from round trips how long our packets wait in a queue on the way to a peer.
///
/// A single sample says little: a receiver on a busy machine (aiortc's one loop stalls for 50 to 500 ms now and then)
/// reads a sender report late from its socket, and its answer looks like a queue. A queue persists while such answers
/// come and go, so the *lowest* of the newest samples decides: of two if answers come evenly, of three if single ones
/// are known to be late. One sample is what one sender report showed: aiortc answers each twice, for audio and video,
/// with the same delay.
struct RoundTripQueue: Sendable {
    /// The shortest round trip is looked for within this time …
    static let window: Duration = .seconds(10)
    /// … and among at least so many samples: some peers report every five seconds.
    static let fewest = 6
    static let most = 32
    /// A sample that lies this far above both its neighbours was answered late …
    static let late: Duration = .milliseconds(60)
    /// … and the peer is regarded as answering late for this long.
    static let lateWindow: Duration = .seconds(60)
    /// This many samples must agree that there is a queue …
    static let agreeing = 2
    /// … or this many, if the peer answers late …
    static let agreeingOfLate = 3
    /// … and must span at least this time: after the start reports are closer together than the delay of a late
    /// receiver.
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
            lateUntil = now + Self.lateWindow
        }
        answersLate = lateUntil.map { now < $0 } ?? false
        while samples.count > Self.fewest, now - samples[0].at > Self.window || samples.count > Self.most {
            samples.removeFirst()
        }
    }

    private var shortest: Duration { samples.lazy.map(\.value).min() ?? .zero }

    /// The newest sample minus the shortest.
    var newest: Duration { (samples.last?.value ?? .zero) - shortest }

    /// The queueing delay that all the newest samples agree on: the lowest of them minus the shortest.
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

    /// Whether a sample came lately.
    func isKnown(at now: Instant) -> Bool { samples.last.map { now - $0.at <= Self.window } ?? false }
}
