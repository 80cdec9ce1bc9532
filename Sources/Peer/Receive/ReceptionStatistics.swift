import Basics

/// Loss, jitter and timing of one received stream, as receiver reports need them (RFC 3550 §6.4.1, A.3, A.8).
struct ReceptionStatistics: Sendable {
    let ssrc: SSRC
    let clockRate: Int64

    /// Packets that arrived, duplicates included (RFC 3550 A.3 counts them too).
    private(set) var packetsReceived = 0
    private(set) var bytesReceived = 0
    /// In ticks of the clock rate.
    var jitterTicks: UInt32 { UInt32(truncatingIfNeeded: Int64(saturating: jitter)) }
    var jitterDuration: Duration { .nanoseconds(Int64(saturating: jitter * 1e9 / Double(clockRate))) }
    /// The loss in the interval before the last report, 0…1.
    private(set) var lossFraction = 0.0

    private var base: Int64?
    private var highest: Int64 = 0
    private var jitter = 0.0
    private var lastTransit: Int64?
    private var expectedPrior: Int64 = 0
    private var receivedPrior = 0
    private var lastSenderReport: (middle: UInt32, arrival: Instant)?

    init(ssrc: SSRC, clockRate: Int64) {
        self.ssrc = ssrc
        self.clockRate = max(clockRate, 1)
    }

    /// Records a packet. Sequence and timestamp are unwrapped; retransmissions on another SSRC do not belong to this
    /// stream.
    mutating func received(sequence: Int64, timestamp: Int64, bytes: Int, at now: Instant) {
        if let start = base {
            base = min(start, sequence)
            highest = max(highest, sequence)
        } else {
            base = sequence
            highest = sequence
        }
        packetsReceived += 1
        bytesReceived += bytes
        let transit = now.ticks(at: clockRate) &- timestamp
        if let lastTransit {
            let difference = Double((transit &- lastTransit).magnitude)
            // A jump of the sender's clock is no jitter.
            if difference < Double(clockRate) * 5 { jitter += (difference - jitter) / 16 }
        }
        lastTransit = transit
    }

    /// Restarts the count after a sequence reset, so that the jump is not reported as loss.
    mutating func reset() {
        base = nil
        lastTransit = nil
        expectedPrior = 0
        receivedPrior = 0
        packetsReceived = 0
    }

    /// Records the stream's sender report: the middle bits of its NTP time are returned in our report.
    mutating func received(_ report: SenderReport, at now: Instant) {
        lastSenderReport = (UInt32(truncatingIfNeeded: report.ntpTime >> 16), now)
    }

    var packetsExpected: Int64 { base.map { highest &- $0 &+ 1 } ?? 0 }
    /// Negative if duplicates outnumber losses.
    var packetsLost: Int64 { packetsExpected - Int64(packetsReceived) }

    /// Makes the block of the next report and ends the interval of the loss fraction. nil before the first packet.
    mutating func makeReportBlock(at now: Instant) -> ReportBlock? {
        guard base != nil else { return nil }
        let expected = packetsExpected - expectedPrior
        let received = Int64(packetsReceived - receivedPrior)
        expectedPrior = packetsExpected
        receivedPrior = packetsReceived
        let lost = max(0, expected - received)
        let fraction = expected > 0 ? min(255, lost * 256 / expected) : 0
        lossFraction = expected > 0 ? Double(lost) / Double(expected) : 0
        var block = ReportBlock(ssrc: ssrc)
        block.fractionLost = UInt8(truncatingIfNeeded: fraction)
        block.cumulativeLost = Int32(truncatingIfNeeded: min(max(packetsLost, -0x80_0000), 0x7F_FFFF))
        block.highestSequence = UInt32(truncatingIfNeeded: highest)
        block.jitter = jitterTicks
        if let lastSenderReport {
            block.lastSenderReport = lastSenderReport.middle
            let delay = max(0, (now - lastSenderReport.arrival).inSeconds)
            block.delaySinceLastSenderReport = UInt32(saturating: delay * 65536)
        }
        return block
    }
}
