import Basics

/// Determines the playout delay to request from a receiver, so that retransmitted packets arrive in time for their
/// picture. A value without a clock.
///
/// Browsers add the round trip to their delay if packets are retransmitted (libwebrtc's jitter estimator: 0.9 of it),
/// which covers one lost packet, but not a burst that itself lasts for 100 ms. The sender knows more: when each packet
/// left first, and when the repair that arrived left.
///
/// Stills are shown as they come: of pictures that are seconds apart a browser estimates a jitter of seconds, and shows
/// each so much later, or drops it.
struct PlayoutDelayController: Sendable {
    /// How long repairs are remembered: long bursts are rare.
    static let window: Duration = .seconds(30)
    /// A picture that is later than this is seen to freeze …
    static let late: Duration = .milliseconds(160)
    /// … if it is later than this many round trips too: one that was lost a second time comes by then, now and then and
    /// alone, and to wait for it would delay all others.
    static let lateRoundTrips = 2
    /// The part of the lateness that is not waited for: it is invisible beside the picture's own time.
    static let tolerated: Duration = .milliseconds(100)
    static let longest: Duration = .milliseconds(200)
    /// Frames that are farther apart are stills.
    static let stillDistance: Duration = .seconds(1)
    /// With this maximum or less, and no minimum, libwebrtc shows a picture without the delay of its estimates.
    static let longestOfStills: Duration = .milliseconds(500)
    /// How long a delay of zero is announced: the receiver keeps the last announced delay.
    static let resetTime: Duration = .seconds(5)

    private var repairs = RecurringDelays(window: window)
    private var lastHeld: Instant?
    private var isStill = false

    /// Records a repair that arrived and left `lateness` after the first transmission of its packet.
    mutating func repaired(after lateness: Duration, roundTrip: Duration, at now: Instant) {
        if lateness >= max(Self.late, roundTrip * Self.lateRoundTrips) { repairs.note(lateness, at: now) }
    }

    /// Records the media time from one frame to the next.
    mutating func spaced(_ distance: Duration) { isStill = distance >= Self.stillDistance }

    /// Drops old repairs and returns the delay that is right now. A single stall changes nothing.
    mutating func hold(at now: Instant) -> Duration {
        repairs.forget(at: now)
        return repairs.recurring.max().map { min($0 - Self.tolerated, Self.longest) } ?? .zero
    }

    /// The playout delay to announce with the packets of the next frame; nil on a link that needs none.
    mutating func announcement(at now: Instant) -> PlayoutDelay? {
        let hold = hold(at: now)
        if isStill {
            lastHeld = now
            return PlayoutDelay(minimum: .zero, maximum: Self.longestOfStills)
        }
        if hold > .zero {
            lastHeld = now
        } else if lastHeld.map({ now - $0 > Self.resetTime }) ?? true {
            return nil
        }
        return PlayoutDelay(minimum: hold)
    }
}
