package import Basics
package import Settings
package import WebServer

/// The limits of one signalling connection. A client above a limit is slowed down, and one that stays above it is
/// disconnected: these limits apply before any that clients share.
package struct SignallingBudget: Sendable {
    /// The decision about a message.
    package enum Verdict: Equatable, Sendable {
        case take
        /// The message is not read; the client gets the refusal.
        case refuse(Refusal)
        /// The connection ends with this refusal.
        case end(Refusal)
    }

    /// Messages a second and at once; outside a room a client needs only `join`.
    private static let (outsideRate, outsideBurst) = (10.0, 30.0)
    private static let (insideRate, insideBurst) = (50.0, 300.0)
    /// The largest message outside a room: a `join` with a token of 8 KiB and names.
    package static let outsideBytes = 16_384
    /// The refusal of larger messages: a complete one is left unread, and one that exceeds the connection's allowance
    /// ends the connection.
    package static let tooLargeOutside = Refusal(
        .badMessage,
        "before the join a message may have at most \(outsideBytes) bytes, and all together \(ConnectionGuard.outsideBytes): "
            + "send a shorter join first, and everything else behind it")
    package static func tooLargeInside(_ limits: TesseraConfiguration.Limits) -> Refusal {
        Refusal(
            .badMessage,
            "a message may have at most \(limits.messageBytes) bytes (limits.messageBytes): send less, or more of them")
    }
    /// Bytes of JSON a second: twice the rate of a page that sends an offer every second.
    private static let byteRate = 65_536.0
    /// Offers a second, and at once. A page offers once per change and waits for the answer.
    private static let (offerRate, offerBurst) = (2.0, 20.0)
    /// Unreadable messages, a second and at once.
    private static let (badRate, badBurst) = (1.0, 20.0)
    /// Joins a second, and at once.
    private static let (joinRate, joinBurst) = (1.0, 3.0)
    /// Refused joins after which the connection ends.
    private static let maxFailedJoins = 5

    private var outside: TokenBucket
    private var inside: TokenBucket
    private var bytes: TokenBucket
    private var bad: TokenBucket
    private var joins: TokenBucket
    private var offers: TokenBucket
    private var failedJoins = 0

    /// - Parameter messageBytes: `limits.messageBytes`; four of them may come at once.
    package init(messageBytes: Int, at now: Instant) {
        outside = TokenBucket(rate: Self.outsideRate, size: Self.outsideBurst, at: now)
        inside = TokenBucket(rate: Self.insideRate, size: Self.insideBurst, at: now)
        bytes = TokenBucket(rate: Self.byteRate, size: Double(max(messageBytes, 65_536)) * 4, at: now)
        bad = TokenBucket(rate: Self.badRate, size: Self.badBurst, at: now)
        joins = TokenBucket(rate: Self.joinRate, size: Self.joinBurst, at: now)
        offers = TokenBucket(rate: Self.offerRate, size: Self.offerBurst, at: now)
    }

    /// Checks a message's rate and size before it is parsed.
    package mutating func received(bytes count: Int, isInside: Bool, at now: Instant) -> Verdict {
        guard isInside ? inside.take(at: now) : outside.take(at: now) else {
            let rate = Int(isInside ? Self.insideRate : Self.outsideRate)
            return .refuse(Refusal(.tooFast, "at most \(rate) messages a second", retryAfter: .seconds(1)))
        }
        guard isInside || count <= Self.outsideBytes else {
            return countBadMessage(at: now) ?? .refuse(Self.tooLargeOutside)
        }
        guard bytes.take(Double(count), at: now) else {
            return .refuse(
                Refusal(
                    .tooFast, "at most \(Int(Self.byteRate) / 1024) KiB a second",
                    retryAfter: bytes.wait(for: Double(count), at: now)))
        }
        return .take
    }

    /// Counts an unreadable message. Returns the end of the connection if there were too many.
    mutating func countBadMessage(at now: Instant) -> Verdict? {
        bad.take(at: now)
            ? nil : .end(Refusal(.tooFast, "too many messages that cannot be read", retryAfter: bad.wait(at: now)))
    }

    /// Counts a join.
    ///
    /// - Returns: the time to wait; zero: the join may go on.
    package mutating func join(at now: Instant) -> Duration { joins.take(at: now) ? .zero : joins.wait(at: now) }

    package mutating func offer(at now: Instant) -> Duration { offers.take(at: now) ? .zero : offers.wait(at: now) }

    /// Counts a refused join. Returns whether there were too many on this connection.
    mutating func countFailedJoin() -> Bool {
        failedJoins += 1
        return failedJoins >= Self.maxFailedJoins
    }
}
