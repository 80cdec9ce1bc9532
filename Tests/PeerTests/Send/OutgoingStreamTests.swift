import Basics
import Testing

@testable import Peer

@Suite("Outgoing streams") struct OutgoingStreamTests {
    @Test("NTP time counts from 1900")
    func wallClock() {
        let clock = WallClock(offset: .seconds(1_000_000))
        let time = clock.ntp(at: Instant(nanoseconds: 1_500_000_000))
        #expect(time >> 32 == 2_208_988_800 + 1_000_001)
        #expect(time & 0xFFFF_FFFF == 0x8000_0000)
    }

    @Test("Statistics contain the peer's reports, in the stream's clock")
    func statistics() {
        var stream = OutgoingStream(ssrc: 1, clockRate: 90_000, firstSequence: 7, timestampBase: 0)
        #expect(stream.statistics(at: .zero).lossFraction == 0)
        var block = ReportBlock(ssrc: 1)
        (block.fractionLost, block.cumulativeLost, block.jitter) = (64, 9, 900)
        stream.received(block, at: .zero)
        let statistics = stream.statistics(at: .zero)
        #expect(
            statistics.lossFraction == 0.25 && statistics.packetsLost == 9 && statistics.jitter == .milliseconds(10))
    }
}
