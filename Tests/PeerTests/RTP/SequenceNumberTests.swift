import Testing

@testable import Peer

@Suite("Sequence numbers") struct SequenceNumberTests {
    @Test(
        "The distance is in the shorter direction, the steps go forward only",
        arguments: [
            (5, 5, 0, 0), (6, 5, 1, 1), (5, 6, -1, 65_535), (2, 65_534, 4, 4), (65_534, 2, -4, 65_532),
            (32_768, 0, -32_768, 32_768),
        ]
            as [(SequenceNumber, SequenceNumber, Int, Int)])
    func distance(number: SequenceNumber, other: SequenceNumber, distance: Int, steps: Int) {
        #expect(number.distance(from: other) == distance)
        #expect(number.steps(from: other) == steps)
        #expect(number.isBefore(other) == (distance < 0))
        #expect(other + distance == number)
    }

    @Test(
        "The extended number is the nearest to its reference",
        arguments: [
            (1, 65_535, 65_537), (65_535, 65_537, 65_535), (65_535, 0, -1), (7, 7 + 65_536 * 9, 7 + 65_536 * 9),
            (0, .max, .min),
        ]
            as [(SequenceNumber, Int64, Int64)])
    func extended(number: SequenceNumber, reference: Int64, value: Int64) {
        #expect(number.extended(near: reference) == value)
        #expect(SequenceNumber(wrapping: value) == number)
    }
}

@Suite("RTP timestamps") struct RTPTimestampTests {
    @Test(
        "The extended timestamp is the nearest to its reference",
        arguments: [
            (5, 0xFFFF_FFFF, 0x1_0000_0005), (0xFFFF_FFFF, 5, -1), (9, -4_294_967_290, -4_294_967_287), (0, .max, .min),
        ]
            as [(RTPTimestamp, Int64, Int64)])
    func extended(timestamp: RTPTimestamp, reference: Int64, value: Int64) {
        #expect(timestamp.extended(near: reference) == value)
        #expect(RTPTimestamp(wrapping: value) == timestamp)
    }

    @Test("Adding ticks goes over the wrap both ways")
    func sum() {
        #expect(RTPTimestamp(0xFFFF_FFF0) + 0x20 == 0x10)
        #expect(RTPTimestamp(0x10) + -0x20 == 0xFFFF_FFF0)
    }
}
