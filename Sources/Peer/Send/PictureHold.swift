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
    /// So much later is late: more than what a first repair takes on an ordinary path.
    static let late: Duration = .milliseconds(130)
    /// So much of the second latest is not waited for: beside a picture's own time it is not seen. The latest of all would move the delay for
    /// half a minute though it may stay alone (one packet in a thousand, at 5 % loss, is lost three times).
    static let bearable: Duration = .milliseconds(70)
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
        guard latest.count >= 2 else { return .zero }
        return min(latest.map(\.lateness).sorted()[latest.count - 2] - Self.bearable, Self.longest)
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
