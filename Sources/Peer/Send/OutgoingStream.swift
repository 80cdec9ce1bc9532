import Basics

/// One SSRC that we send for the connection's whole life, whichever encoder feeds it: numbers and timestamps continue.
struct OutgoingStream: Sendable {
    let ssrc: SSRC
    let clockRate: Int64
    /// The RTP timestamp at room time zero.
    let timestampBase: RTPTimestamp
    private var nextNumber: SequenceNumber
    var counters = SentCounters()
    var meter = RateMeter()
    /// Whether anything was sent; otherwise there is nothing to report.
    private(set) var isActive = false
    /// The peer's last report about this stream.
    private(set) var report: ReportBlock?
    private(set) var reportedAt: Instant?

    /// - Parameter firstSequence: below 2^15, so that every receiver sees packets before the first wrap (SRTP's
    ///   rollover counter, libsrtp#725).
    init(ssrc: SSRC, clockRate: Int64, firstSequence: SequenceNumber, timestampBase: RTPTimestamp) {
        self.ssrc = ssrc
        self.clockRate = clockRate
        self.timestampBase = timestampBase
        nextNumber = firstSequence
    }

    mutating func takeSequence() -> SequenceNumber {
        defer { nextNumber += 1 }
        isActive = true
        return nextNumber
    }

    /// The RTP timestamp of a room time in ticks of this stream's clock.
    func timestamp(_ roomTicks: Int64) -> RTPTimestamp { timestampBase + roomTicks }

    mutating func received(_ block: ReportBlock, at now: Instant) {
        report = block
        reportedAt = now
    }

    /// Our counts, and what the peer reported.
    func statistics(at now: Instant) -> SentStatistics {
        var result = SentStatistics()
        result.counters = counters
        var meter = meter
        result.bitRate = meter.rate(at: now)
        guard let report else { return result }
        result.lossFraction = Double(report.fractionLost) / 256
        result.packetsLost = Int(report.cumulativeLost)
        result.jitter = .nanoseconds(Int64(report.jitter) * 1_000_000_000 / clockRate)
        return result
    }

    /// The report for this instant: both times are read from the room's clock, never from the time of a packet.
    func senderReport(at now: Instant, clock: WallClock, blocks: [ReportBlock]) -> SenderReport {
        SenderReport(
            ssrc: ssrc, ntpTime: clock.ntp(at: now), rtpTimestamp: timestamp(now.ticks(at: clockRate)),
            packetCount: UInt32(truncatingIfNeeded: counters.packets),
            octetCount: UInt32(truncatingIfNeeded: counters.payloadBytes),
            reports: blocks)
    }
}

/// Relates the room's monotonic clock to wall-clock time.
struct WallClock: Sendable {
    /// Seconds from 1900 to 1970 (RFC 5905 §6).
    static let ntpEpoch: Int64 = 2_208_988_800
    /// Unix time minus monotonic time.
    var offset: Duration

    /// 32.32 fixed point seconds since 1900.
    func ntp(at now: Instant) -> UInt64 {
        let unix = (now + offset).nanoseconds
        var (seconds, rest) = unix.quotientAndRemainder(dividingBy: 1_000_000_000)
        if rest < 0 {
            rest += 1_000_000_000
            seconds -= 1
        }
        let fraction = UInt64(rest) << 32 / 1_000_000_000
        return UInt64(bitPattern: (seconds &+ Self.ntpEpoch) << 32) | fraction
    }

    /// The middle 32 bits, as in LSR and DLSR.
    func compactNTP(at now: Instant) -> UInt32 { UInt32(truncatingIfNeeded: ntp(at: now) >> 16) }
}
