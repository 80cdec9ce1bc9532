import Basics

/// For how long a receiver is told to hold pictures, so that those whose packets had to be sent again are there in
/// time. A value without a clock.
///
/// Browsers add the round trip to their delay where packets are sent again (libwebrtc's jitter estimator: 0.9 of it),
/// which covers one lost packet, not a burst that lasts for 100 ms itself. Who sends sees more: when each packet left
/// first, and when the repair that arrived.
struct PlayoutDelayController: Sendable {
    /// For so long repairs are remembered, as long bursts are rare.
    static let memory: Duration = .seconds(30)
    /// A picture that comes so much later stands for long enough to be seen standing.
    static let late: Duration = .milliseconds(160)
    /// So much of the latest is not waited for: it does not show beside the picture's own time.
    static let bearable: Duration = .milliseconds(100)
    static let longest: Duration = .milliseconds(200)
    /// For so long it is said that there is nothing to be held any more: the receiver keeps what it was told.
    static let farewell: Duration = .seconds(5)

    private var repairs = RecurringDelays(memory: memory)
    private var lastHeld: Instant?

    /// A repair arrived that left so much later than its packet first did.
    mutating func repaired(after lateness: Duration, at now: Instant) {
        if lateness >= Self.late { repairs.note(lateness, at: now) }
    }

    /// What is right now. A stall that stays alone moves nothing.
    mutating func hold(at now: Instant) -> Duration {
        repairs.forget(at: now)
        return repairs.recurring.max().map { min($0 - Self.bearable, Self.longest) } ?? .zero
    }

    /// What the packets of the next frame say; nil on a link where nothing has to be held.
    mutating func told(at now: Instant) -> PlayoutDelay? {
        let hold = hold(at: now)
        if hold > .zero {
            lastHeld = now
        } else if lastHeld.map({ now - $0 > Self.farewell }) ?? true {
            return nil
        }
        return PlayoutDelay(minimum: hold)
    }
}
