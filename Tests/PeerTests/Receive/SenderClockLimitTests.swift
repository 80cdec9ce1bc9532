import Basics
import Testing

@testable import Peer

@Suite("Sender clocks of hostile senders") struct SenderClockLimitTests {
    /// The difference of the two is -2⁶³ ns to the nanosecond, which has no positive counterpart.
    @Test("The most distant timestamp is only implausible")
    func smallestDifference() {
        var clock = SenderClock()
        let start = Instant(nanoseconds: 5_000_000_000)
        clock.received(
            SenderReport(ssrc: 1, ntpTime: 7 << 32, rtpTimestamp: 0, packetCount: 0, octetCount: 0), at: start)
        _ = clock.captureTime(ssrc: 1, timestamp: 0, clockRate: 90_000, arrival: start)
        let arrival = start + .nanoseconds(854_775_808)
        #expect(
            clock.captureTime(ssrc: 1, timestamp: -9_223_372_036 * 90_000, clockRate: 90_000, arrival: arrival)
                <= arrival)
    }

    @Test(
        "Timestamps at the ends of their range never trap", arguments: [Int64.min, .min + 1, -1, 0, .max - 1, .max])
    func extremes(timestamp: Int64) {
        var clock = SenderClock()
        var buffer = AudioReceiveBuffer()
        var statistics = ReceptionStatistics(ssrc: 1, clockRate: 48_000)
        for (index, number) in [0, timestamp, timestamp &+ 960, timestamp &- 960, 0].enumerated() {
            let now = Instant.zero + .milliseconds(20 * Int64(index + 1))
            clock.received(
                SenderReport(
                    ssrc: 1, ntpTime: index % 2 == 0 ? .max : 1, rtpTimestamp: 0xFFFF_FFFF, packetCount: 0,
                    octetCount: 0), at: now)
            let capture = clock.captureTime(ssrc: 1, timestamp: number, clockRate: 48_000, arrival: now)
            buffer.insert(
                ReceivedAudioPacket(
                    payload: [0x78, 1, 2], sequence: timestamp &+ Int64(index), timestamp: number, captureTime: capture,
                    arrival: now))
            statistics.received(sequence: Int64(index), timestamp: number, bytes: 3, at: now)
            var buffered = 0
            while let step = buffer.next(at: now + .milliseconds(100), pcmBuffered: buffered), buffered < 960 {
                if case .reset = step { continue } else { buffered += 240 }
            }
        }
        _ = statistics.makeReportBlock(at: .zero + .seconds(1))
    }
}
