import Basics

/// What one signalling connection may ask for. Whoever goes over it is held up, and whoever stays over it is sent away:
/// each connection pays for itself before anything is taken that others share.
struct SignallingBudget: Sendable {
    /// What is to be done with a message.
    enum Verdict: Equatable, Sendable {
        case take
        /// Not to be looked at; the client is told why.
        case refuse(Refusal)
        /// The connection ends with this.
        case end(Refusal)
    }

    /// Messages a second in the long run, and at once: outside a room there is nothing to say but `join`.
    private static let (outsideRate, outsideBurst) = (10.0, 30.0)
    private static let (insideRate, insideBurst) = (50.0, 300.0)
    /// The largest message outside a room: a `join` with a token of 8 KiB and names.
    static let outsideBytes = 16_384
    /// Said to who sends more: a message that came whole is left unread, and one that fills the connection's allowance
    /// ends it.
    static let tooLargeOutside = Refusal(
        .badMessage,
        "before the join a message may have at most \(outsideBytes) bytes, and all together \(ConnectionGuard.outsideBytes): "
            + "send a shorter join first, and everything else behind it")
    static func tooLargeInside(_ limits: TesseraConfiguration.Limits) -> Refusal {
        Refusal(
            .badMessage,
            "a message may have at most \(limits.messageBytes) bytes (limits.messageBytes): send less, or more of them")
    }
    /// Bytes a second of JSON that are read: twice what a page sends that offers anew each second.
    private static let byteRate = 65_536.0
    /// Offers a second, and at once. A page offers once per change and waits for the answer.
    private static let (offerRate, offerBurst) = (2.0, 20.0)
    /// Messages that nobody can read, a second, and at once.
    private static let (badRate, badBurst) = (1.0, 20.0)
    /// Joins a second, and at once.
    private static let (joinRate, joinBurst) = (1.0, 3.0)
    /// Joins that were refused until the connection ends.
    private static let maxFailedJoins = 5

    private var outside: TokenBucket
    private var inside: TokenBucket
    private var bytes: TokenBucket
    private var bad: TokenBucket
    private var joins: TokenBucket
    private var offers: TokenBucket
    private var failedJoins = 0

    /// - Parameter messageBytes: `limits.messageBytes`; four of them may come at once.
    init(messageBytes: Int, at now: Instant) {
        outside = TokenBucket(rate: Self.outsideRate, size: Self.outsideBurst, at: now)
        inside = TokenBucket(rate: Self.insideRate, size: Self.insideBurst, at: now)
        bytes = TokenBucket(rate: Self.byteRate, size: Double(max(messageBytes, 65_536)) * 4, at: now)
        bad = TokenBucket(rate: Self.badRate, size: Self.badBurst, at: now)
        joins = TokenBucket(rate: Self.joinRate, size: Self.joinBurst, at: now)
        offers = TokenBucket(rate: Self.offerRate, size: Self.offerBurst, at: now)
    }

    /// Looks at a message's size before anybody looks into it.
    mutating func received(bytes count: Int, isInside: Bool, at now: Instant) -> Verdict {
        guard isInside ? inside.take(at: now) : outside.take(at: now) else {
            let rate = Int(isInside ? Self.insideRate : Self.outsideRate)
            return .refuse(Refusal(.tooFast, "at most \(rate) messages a second", retryAfter: .seconds(1)))
        }
        guard isInside || count <= Self.outsideBytes else { return wasBad(at: now) ?? .refuse(Self.tooLargeOutside) }
        guard bytes.take(Double(count), at: now) else {
            return .refuse(
                Refusal(
                    .tooFast, "at most \(Int(Self.byteRate) / 1024) KiB a second",
                    retryAfter: bytes.wait(for: Double(count), at: now)))
        }
        return .take
    }

    /// Counts a message that could not be read; the end of the connection if there are too many.
    mutating func wasBad(at now: Instant) -> Verdict? {
        bad.take(at: now)
            ? nil : .end(Refusal(.tooFast, "too many messages that cannot be read", retryAfter: bad.wait(at: now)))
    }

    /// - Returns: how long to wait with another join; zero for none.
    mutating func join(at now: Instant) -> Duration { joins.take(at: now) ? .zero : joins.wait(at: now) }

    mutating func offer(at now: Instant) -> Duration { offers.take(at: now) ? .zero : offers.wait(at: now) }

    /// Counts a join that was refused; whether that was one too many for this connection.
    mutating func joinFailed() -> Bool {
        failedJoins += 1
        return failedJoins >= Self.maxFailedJoins
    }
}
