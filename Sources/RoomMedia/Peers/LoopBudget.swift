import Basics

/// What one peer may cost the loop, in seconds of the loop's time. A value: told what was spent, and asked before each
/// datagram.
///
/// A peer that sends and receives 720p costs the loop 2 to 5 ms a second, a hundredth of the default share. Over its
/// share its datagrams are dropped unread, but for a few connectivity checks, so that it can recover; who stays over it
/// is ended.
package struct LoopBudget: Sendable {
    /// What may be spent at once, in seconds: a handshake is 2 ms, an offer less than 5 ms.
    static let burst = 0.25
    /// So long, in all and lately, a peer may be over its share …
    static let patience = Duration.seconds(5)
    /// … and so fast that is forgiven, in seconds a second: 5 s within 30 s.
    static let forgiveness = 5.0 / 30
    /// Connectivity checks that pass while the peer is over its share: consent needs one each 5 s (RFC 7675 §5.1), a
    /// browser sends one each 2.5 s on each of its pairs.
    static let checksPerSecond = 4.0
    /// A peer's datagrams of one turn are dropped after so much of the turn …
    static let turnShare = Duration.milliseconds(5)
    /// … and so many of them: a thread that the system kept waiting looks like a slow peer.
    static let turnDatagrams = 32

    private var time: TokenBucket
    private var overdrafts: TokenBucket
    private var checks: TokenBucket
    /// Up to when the overdraft was counted, and when it is paid back if nothing more is spent.
    private var overdraft: (counted: Instant, paid: Instant)?
    private var turn = 0
    private var turnTime = Duration.zero
    private var turnCount = 0
    /// Datagrams that were dropped unread.
    package private(set) var dropped = 0

    /// - Parameter share: of one core, lastingly.
    package init(share: Double, burst: Double = burst, patience: Duration = patience, at now: Instant) {
        time = TokenBucket(rate: max(share, 0.001), size: burst, at: now)
        overdrafts = TokenBucket(rate: Self.forgiveness, size: patience.inSeconds, at: now)
        checks = TokenBucket(rate: Self.checksPerSecond, size: Self.checksPerSecond * 2, at: now)
    }

    /// Whether the peer's next datagram of this turn is to be read.
    mutating func admits(isCheck: Bool, turn: Int, at now: Instant) -> Bool {
        if turn != self.turn { (self.turn, turnTime, turnCount) = (turn, .zero, 0) }
        turnCount += 1
        let isHeld = time.isOverdrawn(at: now) || turnTime > Self.turnShare && turnCount > Self.turnDatagrams
        if !isHeld || isCheck && checks.take(at: now) { return true }
        dropped += 1
        return false
    }

    /// Notes what a datagram took, for the rest of the turn.
    mutating func noted(_ spent: Duration) { turnTime += spent }

    /// Charges what the peer cost in a turn. Returns whether it has been over its share for too long.
    mutating func charge(_ spent: Duration, at now: Instant) -> Bool {
        if let overdraft {
            overdrafts.spend(max(.zero, min(now, overdraft.paid) - overdraft.counted).inSeconds, at: now)
        }
        time.spend(spent.inSeconds, at: now)
        overdraft = time.isOverdrawn(at: now) ? (now, now + time.wait(for: 0, at: now)) : nil
        return overdrafts.isOverdrawn(at: now)
    }
}
