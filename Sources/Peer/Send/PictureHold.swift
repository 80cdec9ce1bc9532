import Basics

/// For how long a receiver is told to hold pictures, so that those whose packets had to be sent again are there in time. A value without a
/// clock.
///
/// Browsers add the round trip to their delay where packets are sent again (libwebrtc's jitter estimator: 0.9 of it), which covers one lost
/// packet, not a burst that lasts for 100 ms itself. Who sends sees more: when each packet left first, and when the repair that arrived.
struct PictureHold: Sendable {
    /// The latest repair of each such stretch counts …
    static let stretch: Duration = .milliseconds(500)
    /// … for so many of them: 30 s, as long bursts are rare.
    static let memory: Int64 = 60
    /// A picture that comes so much later stands for long enough to be seen standing …
    static let late: Duration = .milliseconds(160)
    /// … and at least so many stretches must lie from one to another: a stall that stays alone moves nothing.
    static let again: Int64 = 2
    /// So much of the latest is not waited for: it does not show beside the picture's own time.
    static let bearable: Duration = .milliseconds(100)
    static let longest: Duration = .milliseconds(200)
    /// For so long it is said that there is nothing to be held any more: the receiver keeps what it was told.
    static let farewell: Duration = .seconds(5)

    private var latest: [(stretch: Int64, lateness: Duration)] = []
    private var lastHeld: Instant?

    /// A repair arrived that left so much later than its packet first did.
    mutating func repaired(after lateness: Duration, at now: Instant) {
        guard lateness >= Self.late else { return }
        let stretch = now.nanoseconds / Self.stretch.nanoseconds
        if let last = latest.last, last.stretch >= stretch {
            latest[latest.count - 1].lateness = max(last.lateness, lateness)
        } else {
            latest.append((stretch, lateness))
        }
    }

    /// What is right now.
    mutating func hold(at now: Instant) -> Duration {
        let stretch = now.nanoseconds / Self.stretch.nanoseconds
        latest.removeAll { $0.stretch <= stretch - Self.memory }
        guard let first = latest.first, let last = latest.last, last.stretch - first.stretch >= Self.again,
            let worst = latest.lazy.map(\.lateness).max()
        else { return .zero }
        return min(worst - Self.bearable, Self.longest)
    }

    /// What the packets of the next frame say; nil on a line where nothing has to be held.
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
