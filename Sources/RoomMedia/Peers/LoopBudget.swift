package import Basics

/// The loop's time that one peer may take, in seconds. A value: charged with each turn's cost, and asked before each
/// datagram.
///
/// A peer that sends and receives 720p costs the loop 2 to 5 ms a second, a hundredth of the default share. The
/// datagrams of a peer over its share are dropped unread, except a few connectivity checks, so that it can recover; a
/// peer that stays over its share is ended.
package struct LoopBudget: Sendable {
    /// The most that may be spent at once, in seconds: a handshake is 2 ms, an offer less than 5 ms.
    static let burst = 0.25
    /// How long a peer may be over its share, in total …
    static let tolerance = Duration.seconds(5)
    /// … less this much forgiveness, in seconds a second: 5 s within 30 s.
    static let forgiveness = 5.0 / 30
    /// Connectivity checks that pass while the peer is over its share: consent needs one every 5 s (RFC 7675 §5.1), a
    /// browser sends one every 2.5 s on each of its pairs.
    static let checksPerSecond = 4.0
    /// A peer's datagrams of one turn are dropped once they took this much of the turn …
    static let turnShare = Duration.milliseconds(5)
    /// … and were more than this: a thread that the system kept waiting makes any peer look slow.
    static let turnDatagrams = 32

    private var time: TokenBucket
    private var overdrafts: TokenBucket
    private var checks: TokenBucket
    /// The instant up to which the overdraft is counted, and the one at which it is repaid if nothing more is spent.
    private var overdraft: (counted: Instant, paid: Instant)?
    private var turn = 0
    private var turnTime = Duration.zero
    private var turnCount = 0
    /// Datagrams that were dropped unread.
    package private(set) var dropped = 0

    /// - Parameter share: the sustained share of one core.
    package init(share: Double, burst: Double = burst, tolerance: Duration = tolerance, at now: Instant) {
        time = TokenBucket(rate: max(share, 0.001), size: burst, at: now)
        overdrafts = TokenBucket(rate: Self.forgiveness, size: tolerance.inSeconds, at: now)
        checks = TokenBucket(rate: Self.checksPerSecond, size: Self.checksPerSecond * 2, at: now)
    }

    /// Returns whether the peer's next datagram of this turn is to be read; counts it as dropped if not.
    mutating func admit(isCheck: Bool, turn: Int, at now: Instant) -> Bool {
        if turn != self.turn { (self.turn, turnTime, turnCount) = (turn, .zero, 0) }
        turnCount += 1
        let isHeld = time.isOverdrawn(at: now) || turnTime > Self.turnShare && turnCount > Self.turnDatagrams
        if !isHeld || isCheck && checks.take(at: now) { return true }
        dropped += 1
        return false
    }

    /// Adds a datagram's cost to the turn's.
    mutating func noteTurnTime(_ spent: Duration) { turnTime += spent }

    /// Charges the peer's cost of a turn. Returns whether the peer has been over its share for too long.
    mutating func charge(_ spent: Duration, at now: Instant) -> Bool {
        if let overdraft {
            overdrafts.spend(max(.zero, min(now, overdraft.paid) - overdraft.counted).inSeconds, at: now)
        }
        time.spend(spent.inSeconds, at: now)
        overdraft = time.isOverdrawn(at: now) ? (now, now + time.wait(for: 0, at: now)) : nil
        return overdrafts.isOverdrawn(at: now)
    }
}
