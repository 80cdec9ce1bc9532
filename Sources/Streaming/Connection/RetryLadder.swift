package import Basics

/// When a lost connection is tried again: after 1, 2, 5 s, every 10 s for a minute, then every 30 s, until it has been
/// away for too long. A value.
package struct RetryLadder: Sendable {
    /// The waits before the attempts.
    static let waits: [Duration] = [1, 2, 5, 10, 10, 10, 10, 10].map { .seconds($0) }
    static let lastWait = Duration.seconds(30)
    /// A connection that lasts shorter counts as another failed attempt: a server that accepts and then refuses must
    /// not be asked every second.
    static let stable = Duration.seconds(10)

    /// A failure of the attempt, with what follows.
    package enum Step: Hashable, Sendable {
        case retry(at: Instant)
        case giveUp
    }

    private let limit: Duration
    /// When the connection was lost; nil: it stands, or has not been tried yet.
    private var lostAt: Instant?
    private var connectedAt: Instant?
    /// The failed attempts since.
    package private(set) var attempts = 0

    /// - Parameter limit: how long a lost connection is tried again; zero: not at all.
    package init(for limit: Duration) { self.limit = limit }

    /// Notes that the connection stands.
    package mutating func connected(at now: Instant) { connectedAt = now }

    /// Notes that the connection is lost, or that an attempt failed.
    package mutating func failed(at now: Instant) -> Step {
        if let connectedAt, now - connectedAt >= Self.stable { (lostAt, attempts) = (nil, 0) }
        connectedAt = nil
        let since = lostAt ?? now
        lostAt = since
        let wait = Self.waits.indices.contains(attempts) ? Self.waits[attempts] : Self.lastWait
        attempts += 1
        return now + wait - since > limit ? .giveUp : .retry(at: now + wait)
    }
}
