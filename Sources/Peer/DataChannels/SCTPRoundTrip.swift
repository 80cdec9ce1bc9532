import Basics

/// The round trip of an association, and the retransmission timeout that it gives (RFC 9260 §6.3.1).
struct SCTPRoundTrip {
    static let shortestTimeout = Duration.milliseconds(300)
    static let longestTimeout = Duration.seconds(10)

    private(set) var timeout = Duration.seconds(1)
    private var smoothed: Duration?
    private var variation = Duration.zero
    /// The chunk whose acknowledgement is being timed.
    private var measured: (tsn: UInt32, at: Instant)?

    /// Records that a new chunk was sent. One is timed at once.
    mutating func sent(_ tsn: UInt32, at now: Instant) {
        if measured == nil { measured = (tsn, now) }
    }

    /// Records that a chunk was sent again: its acknowledgement gives no round trip (Karn).
    mutating func sentAgain(_ tsn: UInt32) {
        if measured?.tsn == tsn { measured = nil }
    }

    mutating func acknowledged(_ tsn: UInt32, at now: Instant) {
        guard let measured, measured.tsn == tsn else { return }
        self.measured = nil
        let sample = now - measured.at
        if let smoothed {
            let difference = sample > smoothed ? sample - smoothed : smoothed - sample
            variation = variation * 3 / 4 + difference / 4
            self.smoothed = smoothed * 7 / 8 + sample / 8
        } else {
            smoothed = sample
            variation = sample / 2
        }
        timeout = min(max((smoothed ?? sample) + variation * 4, Self.shortestTimeout), Self.longestTimeout)
    }

    /// Doubles the timeout: nothing was acknowledged in time.
    mutating func timedOut() {
        measured = nil
        timeout = min(timeout * 2, Self.longestTimeout)
    }
}
