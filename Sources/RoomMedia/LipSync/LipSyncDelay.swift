import Basics

/// How long after their capture a sender's pictures can be shown: what its sound waits for. A value, so that the
/// simulations run the very rule of the rooms.
///
/// It is what is usual, and more where pictures come late again and again because they were repaired: lost packets are
/// there a round trip later, and who shows what is left at once and waits then stands still at each loss. A stall that
/// stays alone moves nothing, and neither does a sender that is busy now and then: its stalls are short, the delay
/// would be there all the time. (Where the line itself holds packets up the sound has waited for that already.)
package struct LipSyncDelay: Sendable {
    /// Pictures of about a second.
    static let window = 32
    /// So few tell enough to begin with.
    static let fewest = 4
    /// After so long without any it is forgotten.
    static let silence: Duration = .milliseconds(500)
    /// Repaired so much later than the fastest of the last second is late: a tick and a half, more than the rhythm of
    /// the ticks hides.
    static let late: Duration = .milliseconds(50)
    /// For so long stalls are remembered, as the sound's own delay is.
    static let memory: Duration = .seconds(10)
    /// The worst of them alone is not waited for in full: so much longer a picture may stand, then and when.
    static let bearable: Duration = .milliseconds(33)
    /// How much the sound waits for the picture at most.
    static let longest: Duration = .milliseconds(200)
    /// A movement is in a picture half a frame later on average: so much later than pictures can be shown the sound is
    /// played.
    static let behindPicture: Duration = .milliseconds(15)

    private struct Recent {
        /// From capture to arrival, and to the first tick that could show it.
        var arrival: Duration
        var shown: Duration
    }

    private var recent: [Recent] = []
    private var stalls = RecurringDelays(window: memory)
    private var usual: Duration = .zero
    private var updated: Instant?

    package init() {}

    /// `now` is the first tick that could show the picture of `captureTime`, whether it was held back for the sound or
    /// not.
    package mutating func picture(
        of captureTime: Instant, arrival: Instant, isRepaired: Bool, couldBeShownAt now: Instant
    ) {
        if delay(at: now) == nil {
            recent.removeAll(keepingCapacity: true)
            stalls = RecurringDelays(window: Self.memory)
        }
        if recent.count >= Self.window { recent.removeFirst() }
        let picture = Recent(arrival: arrival - captureTime, shown: now - captureTime)
        recent.append(picture)
        updated = now
        guard recent.count >= Self.fewest else {
            usual = .zero
            return
        }
        usual = recent.map(\.shown).sorted()[recent.count / 2]
        let fastest = recent.lazy.map(\.arrival).min() ?? .zero
        stalls.forget(at: arrival)
        if isRepaired, picture.arrival - fastest >= Self.late { stalls.note(picture.shown, at: arrival) }
    }

    /// What the sound has to wait for now.
    package var delay: Duration {
        let longest = stalls.recurring.sorted().suffix(2)
        guard let second = longest.first, let first = longest.last else { return usual }
        return max(usual, second, first - Self.bearable)
    }

    /// The same; nil when no picture came lately.
    package func delay(at now: Instant) -> Duration? {
        updated.flatMap { now - $0 < Self.silence ? delay : nil }
    }

    /// The least delay for the playout buffer of the sound with which both are shown together, up to the limit.
    ///
    /// - Parameters:
    ///   - picture: how long after its capture a picture can be shown; nil: there is none.
    ///   - audio: the same of the sound that plays now.
    ///   - current: the buffer's own delay now.
    package static func audioWait(picture: Duration?, audio: Duration, current: Duration) -> Duration {
        picture.map { min(max(current + ($0 + behindPicture - audio), .zero), longest) } ?? .zero
    }
}
