package import Basics

/// Measures how long after their capture a sender's pictures can be shown, which is the delay that its audio needs. A
/// value, so that the simulations run the same rule as the rooms.
///
/// The delay is the median of recent pictures, and more where repaired pictures come late again and again: lost packets
/// arrive a round trip later, and a tile that did not wait for them would freeze at each loss. A single stall changes
/// nothing, and neither does a sender that is busy now and then: its stalls are short, and the delay would be
/// permanent. (Where the link itself holds packets up, the jitter buffer has delayed the audio already.)
package struct LipSyncDelay: Sendable {
    /// Pictures of about a second.
    static let window = 32
    /// Pictures before the first measurement.
    static let minimumCount = 4
    /// Without pictures for this long the measurement starts again.
    static let silence: Duration = .milliseconds(500)
    /// A repaired picture is late when it arrives this much later than the fastest of the last second: a tick and a
    /// half, more than the rhythm of the ticks hides.
    static let late: Duration = .milliseconds(50)
    /// How long stalls are remembered, as long as the jitter buffer remembers its delays.
    static let stallWindow: Duration = .seconds(10)
    /// The delay stays this much below the longest remembered stall: a picture may stand that much longer now and then.
    static let tolerated: Duration = .milliseconds(33)
    /// The most that the audio waits for the picture.
    static let longest: Duration = .milliseconds(200)
    /// A movement is in a picture half a frame later on average, so the audio is played this much later than pictures
    /// can be shown.
    static let behindPicture: Duration = .milliseconds(15)

    private struct Recent {
        /// From capture to arrival, and to the first tick that could show it.
        var arrival: Duration
        var shown: Duration
    }

    private var recent: [Recent] = []
    private var stalls = RecurringDelays(window: stallWindow)
    private var median: Duration = .zero
    private var updated: Instant?

    package init() {}

    /// `now` is the first tick that could show the picture of `captureTime`, whether it was held back for the audio or
    /// not.
    package mutating func recordPicture(
        of captureTime: Instant, arrival: Instant, isRepaired: Bool, couldBeShownAt now: Instant
    ) {
        if delay(at: now) == nil {
            recent.removeAll(keepingCapacity: true)
            stalls = RecurringDelays(window: Self.stallWindow)
        }
        if recent.count >= Self.window { recent.removeFirst() }
        let picture = Recent(arrival: arrival - captureTime, shown: now - captureTime)
        recent.append(picture)
        updated = now
        guard recent.count >= Self.minimumCount else {
            median = .zero
            return
        }
        median = recent.map(\.shown).sorted()[recent.count / 2]
        let fastest = recent.lazy.map(\.arrival).min() ?? .zero
        stalls.forget(at: arrival)
        if isRepaired, picture.arrival - fastest >= Self.late { stalls.note(picture.shown, at: arrival) }
    }

    /// The pictures' delay now, for which the audio has to wait.
    package var delay: Duration {
        let longest = stalls.recurring.sorted().suffix(2)
        guard let second = longest.first, let first = longest.last else { return median }
        return max(median, second, first - Self.tolerated)
    }

    /// The same; nil when no picture came within `silence`.
    package func delay(at now: Instant) -> Duration? {
        updated.flatMap { now - $0 < Self.silence ? delay : nil }
    }

    /// The minimum delay of the audio's jitter buffer with which audio and picture agree, 0 to `longest`.
    ///
    /// - Parameters:
    ///   - picture: from a picture's capture until it can be shown; nil: there is none.
    ///   - audio: from the capture of the audio that plays now until now.
    ///   - current: the buffer's own delay now.
    package static func audioWait(picture: Duration?, audio: Duration, current: Duration) -> Duration {
        picture.map { min(max(current + ($0 + behindPicture - audio), .zero), longest) } ?? .zero
    }
}
