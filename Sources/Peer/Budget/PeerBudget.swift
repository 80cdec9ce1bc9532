import Basics

/// The work that one peer may cause. A connection drops and counts what exceeds the budget before it costs anything,
/// and ends a peer that keeps exceeding it with ``PeerEvent/overBudget(_:)``.
///
/// The reference is a browser that sends 1080p60 at 10 Mbit/s with audio, simulcast and repairs: about 2000 packets and
/// 1.3 MB a second.
public struct PeerBudget: Hashable, Sendable {
    /// Datagrams of media, reports and data per second that are processed; further ones are dropped undecrypted.
    public var packets = 6000
    /// The same in bytes: 64 Mbit/s.
    public var bytes = 8_000_000
    /// Authentic datagrams per second that a peer may send over a longer time. Only decrypted datagrams count: anybody
    /// can forge the others.
    public var lastingPackets = 4000
    /// The same in bytes per second.
    public var lastingBytes = 5_000_000
    /// STUN messages per second on flows of the peer, and as many on other flows. A browser sends 20 while it looks for
    /// a path.
    public var checks = 200.0
    /// Datagrams per second of a DTLS handshake. A browser needs fewer than 20 in all.
    public var handshake = 100.0
    /// Steps per second that reports may cost (`RTCPPacket.work`): 10 for each packet and one for each number, block or
    /// source in it. A browser causes about 2000.
    public var reports = 50_000.0
    /// New SSRCs per second. The burst below is for the start of a call, when all streams begin together.
    public var newSources = 2.0
    /// The largest burst of new SSRCs.
    public var newSourcesAtOnce = 32.0
    /// Packets per second that are decrypted to find out whether their SSRC, which is not yet known, is authentic.
    public var unknownSources = 100.0
    /// A peer that exceeds the budget in each of so many consecutive seconds is ended.
    public var toleratedSeconds = 10

    /// The budget of a browser, with room to spare.
    public init() {}
}

/// Detects that a limit was exceeded in every second of a period: a single burst is forgiven.
struct LastingExcess: Sendable {
    private var last: Int64?
    private var run = 0

    /// Records that the limit was exceeded in this second; true if it was in each of the last `tolerated` seconds.
    mutating func note(second: Int64, tolerated: Int) -> Bool {
        if last != second {
            run = last == second - 1 ? run + 1 : 1
            last = second
        }
        return run >= tolerated
    }
}

/// How much of its budget one peer has left. A value; time is an argument.
///
/// Limits on bytes that are not authenticated only drop: otherwise anybody who can forge a source address could end
/// somebody else's call. Limits on checks only drop too, since STUN has no protection against replays. A peer is ended
/// only for packets that its keys authenticate.
struct PeerAllowance: Sendable {
    private let budget: PeerBudget
    private var second = Int64.min
    private var taken = (packets: 0, bytes: 0)
    private var authentic = (packets: 0, bytes: 0)
    private var checks: TokenBucket
    private var strangeChecks: TokenBucket
    private var handshake: TokenBucket
    private var reports: TokenBucket
    private var mediaExcess = LastingExcess()
    private var reportExcess = LastingExcess()
    /// Datagrams that were dropped unread.
    private(set) var dropped = 0
    /// Report datagrams of which the remainder was skipped.
    private(set) var skippedReports = 0
    /// The reason to end the peer; nil while there is none.
    private(set) var verdict: String?

    init(_ budget: PeerBudget, at now: Instant) {
        self.budget = budget
        checks = TokenBucket(rate: budget.checks, size: budget.checks, at: now)
        strangeChecks = checks
        handshake = TokenBucket(rate: budget.handshake, size: budget.handshake, at: now)
        reports = TokenBucket(rate: budget.reports, size: budget.reports, at: now)
    }

    /// Whether a STUN message is processed; `isKnown`: it came on a flow of the peer.
    mutating func admitsCheck(isKnown: Bool, at now: Instant) -> Bool {
        count(isKnown ? checks.take(at: now) : strangeChecks.take(at: now))
    }

    /// Whether a datagram of the DTLS handshake is processed.
    mutating func admitsHandshake(at now: Instant) -> Bool { count(handshake.take(at: now)) }

    /// Whether a datagram of media, reports or data is processed.
    mutating func admits(bytes: Int, at now: Instant) -> Bool {
        roll(now)
        guard taken.packets < budget.packets, taken.bytes < budget.bytes else { return count(false) }
        taken = (taken.packets + 1, taken.bytes + bytes)
        return true
    }

    /// Records that a datagram was authentic.
    mutating func noteAuthentic(bytes: Int, at now: Instant) {
        roll(now)
        authentic = (authentic.packets + 1, authentic.bytes + bytes)
        guard authentic.packets > budget.lastingPackets || authentic.bytes > budget.lastingBytes else { return }
        if mediaExcess.note(second: second, tolerated: budget.toleratedSeconds) {
            verdict =
                "it sent more than \(budget.lastingPackets) packets or \(budget.lastingBytes) bytes a second for \(budget.toleratedSeconds) s"
        }
    }

    /// Whether one more packet of an authentic report is processed.
    mutating func admitsReport(at now: Instant) -> Bool {
        guard reports.isOverdrawn(at: now) else { return true }
        skippedReports &+= 1
        if reportExcess.note(second: Self.second(now), tolerated: budget.toleratedSeconds) {
            verdict =
                "its reports asked for more than \(Int(saturating: budget.reports)) steps a second for \(budget.toleratedSeconds) s"
        }
        return false
    }

    /// Charges the work of a report, in steps.
    mutating func spend(report work: Int, at now: Instant) { reports.spend(Double(work), at: now) }

    /// Records that the peer used up its SSRCs.
    mutating func ranOutOfSources() { verdict = "it used more than \(SourceTable.lifetime) sources of media" }

    private mutating func count(_ isAdmitted: Bool) -> Bool {
        if !isAdmitted { dropped &+= 1 }
        return isAdmitted
    }

    private static func second(_ now: Instant) -> Int64 { now.nanoseconds / 1_000_000_000 }

    private mutating func roll(_ now: Instant) {
        let current = Self.second(now)
        guard current != second else { return }
        second = current
        taken = (0, 0)
        authentic = (0, 0)
    }
}
