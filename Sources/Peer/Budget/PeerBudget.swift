import Basics

/// What one peer may make its connection do. What goes beyond is dropped before it costs anything, and counted; a peer
/// that goes on doing it is ended with ``PeerEvent/overBudget(_:)``.
///
/// The reference is a browser that sends 1080p60 at 10 Mbit/s with sound, simulcast and repairs: about 2000 packets and
/// 1.3 MB a second.
public struct PeerBudget: Hashable, Sendable {
    /// Datagrams of media, reports and data a second that are looked into; the rest is dropped undecrypted.
    public var packets = 6000
    /// The same in bytes: 64 Mbit/s.
    public var bytes = 8_000_000
    /// Authentic datagrams a second, and bytes, that a peer may send lastingly. Only what was decrypted counts: anybody
    /// may forge the rest.
    public var lastingPackets = 4000
    /// The same in bytes of datagrams.
    public var lastingBytes = 5_000_000
    /// STUN messages a second of flows that the peer has, and as many of others. A browser sends 20 while it looks for
    /// a path.
    public var checks = 200.0
    /// Datagrams a second of a DTLS handshake. A browser needs fewer than 20 in all.
    public var handshake = 100.0
    /// Steps a second that reports may cost (`RTCPPacket.work`): each packet 10, and each number, block or source in it
    /// one. A browser asks for about 2000.
    public var reports = 50_000.0
    /// New SSRCs a second, and at once: the streams of a call begin together.
    public var newSources = 2.0
    /// The most new SSRCs at once.
    public var newSourcesAtOnce = 32.0
    /// Packets a second under SSRCs of which none was authentic yet that are decrypted to find out.
    public var unknownSources = 100.0
    /// Whoever goes over the budget in each second of so many is ended.
    public var patience = 10

    /// The budget of a browser, with room to spare.
    public init() {}
}

/// Notices who goes over a limit in every second of some time: a burst is forgiven, a habit is not.
struct LastingExcess: Sendable {
    private var last: Int64?
    private var run = 0

    /// Something went over the limit in this second. Answers whether it did in each of the last `patience`.
    mutating func note(second: Int64, patience: Int) -> Bool {
        if last != second {
            run = last == second - 1 ? run + 1 : 1
            last = second
        }
        return run >= patience
    }
}

/// How much of its budget one peer has left. A value; time is an argument.
///
/// Limits of unauthentic bytes only drop: whoever can forge a source address could end somebody else's call otherwise.
/// Checks only drop too, since STUN has no protection against replays. What ends a peer is what its keys prove to be
/// its own.
struct PeerAllowance: Sendable {
    private let budget: PeerBudget
    private var second = Int64.min
    private var taken = (packets: 0, bytes: 0)
    private var proven = (packets: 0, bytes: 0)
    private var checks: TokenBucket
    private var strangeChecks: TokenBucket
    private var handshake: TokenBucket
    private var reports: TokenBucket
    private var mediaExcess = LastingExcess()
    private var reportExcess = LastingExcess()
    /// Datagrams that were dropped unread.
    private(set) var dropped = 0
    /// Datagrams of reports whose rest was left unread.
    private(set) var skippedReports = 0
    /// Why the peer is to be ended.
    private(set) var verdict: String?

    init(_ budget: PeerBudget, at now: Instant) {
        self.budget = budget
        checks = TokenBucket(rate: budget.checks, size: budget.checks, at: now)
        strangeChecks = checks
        handshake = TokenBucket(rate: budget.handshake, size: budget.handshake, at: now)
        reports = TokenBucket(rate: budget.reports, size: budget.reports, at: now)
    }

    /// Whether a STUN message is read; `isKnown`: it came on a flow of the peer's.
    mutating func admitsCheck(isKnown: Bool, at now: Instant) -> Bool {
        count(isKnown ? checks.take(at: now) : strangeChecks.take(at: now))
    }

    /// Whether a datagram of the DTLS handshake is read.
    mutating func admitsHandshake(at now: Instant) -> Bool { count(handshake.take(at: now)) }

    /// Whether a datagram of media, reports or data is read.
    mutating func admits(bytes: Int, at now: Instant) -> Bool {
        roll(now)
        guard taken.packets < budget.packets, taken.bytes < budget.bytes else { return count(false) }
        taken = (taken.packets + 1, taken.bytes + bytes)
        return true
    }

    /// A datagram that was read was authentic.
    mutating func proved(bytes: Int, at now: Instant) {
        roll(now)
        proven = (proven.packets + 1, proven.bytes + bytes)
        guard proven.packets > budget.lastingPackets || proven.bytes > budget.lastingBytes else { return }
        if mediaExcess.note(second: second, patience: budget.patience) {
            verdict =
                "it sent more than \(budget.lastingPackets) packets or \(budget.lastingBytes) bytes a second for \(budget.patience) s"
        }
    }

    /// Whether one more packet of an authentic report is read.
    mutating func admitsReport(at now: Instant) -> Bool {
        guard reports.isOverdrawn(at: now) else { return true }
        skippedReports &+= 1
        if reportExcess.note(second: Self.second(now), patience: budget.patience) {
            verdict =
                "its reports asked for more than \(Int(saturating: budget.reports)) steps a second for \(budget.patience) s"
        }
        return false
    }

    /// A report asked for so many steps.
    mutating func spend(report work: Int, at now: Instant) { reports.spend(Double(work), at: now) }

    /// The peer used up its SSRCs.
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
        proven = (0, 0)
    }
}
