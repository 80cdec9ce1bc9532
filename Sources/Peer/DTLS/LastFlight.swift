import Basics

/// The flight with which a DTLS server ends the handshake. It has no answer, so that the server's own timer never
/// repeats it: where it gets lost, the client sends its flight again, after 4 s and more when others had been lost
/// before (RFC 6347 §4.2.4). That is 90 bytes, sent again by ourselves until the peer's data or media has shown that it
/// arrived. The same bytes: a peer that has them already drops them as replayed (RFC 6347 §4.1.2.6).
struct LastFlight: Sendable {
    /// The wait before the first repetition; each later one comes after twice the wait.
    static let firstWait = Duration.milliseconds(250)
    static let mostRepetitions = 5

    private var datagrams: [[UInt8]] = []
    private var wait = Self.firstWait
    private var left = Self.mostRepetitions
    private(set) var nextDeadline: Instant?

    /// Nothing to repeat.
    init() {}

    init(_ datagrams: [[UInt8]], at now: Instant) {
        self.datagrams = datagrams
        nextDeadline = datagrams.isEmpty ? nil : now + wait
    }

    /// The datagrams to send again now; nil: none.
    mutating func next(at now: Instant) -> [[UInt8]]? {
        guard let deadline = nextDeadline, now >= deadline else { return nil }
        let repeated = datagrams
        left -= 1
        wait = wait * 2
        if left > 0 { nextDeadline = now + wait } else { hasArrived() }
        return repeated
    }

    mutating func hasArrived() {
        guard nextDeadline != nil else { return }
        datagrams = []
        nextDeadline = nil
    }
}
