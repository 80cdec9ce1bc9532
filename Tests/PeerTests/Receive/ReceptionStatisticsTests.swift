import Basics
import Testing

@testable import Peer

@Suite struct ReceptionStatisticsTests {
    @Test func `Reports count loss over the interval and in all`() throws {
        var statistics = ReceptionStatistics(ssrc: 5, clockRate: 90_000)
        for sequence in Int64(65_530)..<65_550 where sequence % 4 != 0 {
            statistics.received(
                sequence: sequence, timestamp: sequence * 900, bytes: 10,
                at: Instant(nanoseconds: sequence * 10_000_000))
        }
        statistics.received(SenderReport(ssrc: 5, ntpTime: 0x1111_2222_3333_4444, rtpTimestamp: 0), at: .zero)
        let made = statistics.makeReportBlock(at: .zero + .seconds(1))
        let block = try #require(made)
        #expect(block.cumulativeLost == 5 && block.fractionLost == 64 && block.highestSequence == 65_549)
        #expect(block.lastSenderReport == 0x2222_3333 && block.delaySinceLastSenderReport == 65536)
        #expect(block.jitter == 0)
        #expect(block.roundTrip(compactNow: 0x2222_3333 &+ 65536 &+ 6554) == .nanoseconds(6554 * 1_000_000_000 / 65536))
    }
}
