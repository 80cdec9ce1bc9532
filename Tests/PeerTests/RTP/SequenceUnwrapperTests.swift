import Testing

@testable import Peer

@Suite struct SequenceUnwrapperTests {
    @Test func `Numbers continue over the wrap both ways`() {
        var unwrapper = SequenceUnwrapper()
        let values = ([65534, 65535, 0, 65535, 2] as [SequenceNumber]).map { unwrapper.unwrap($0) }
        #expect(values == [65534, 65535, 65536, 65535, 65538])
        var timestamps = TimestampUnwrapper()
        let times = ([0xFFFF_FFFF, 5] as [RTPTimestamp]).map { timestamps.unwrap($0) }
        #expect(times == [4_294_967_295, 4_294_967_301])
    }

    @Test func `A jump is accepted only when the next packet continues from it`() {
        var tracker = SequenceTracker()
        func expect(_ sequence: SequenceNumber, _ outcome: SequenceTracker.Outcome) {
            let result = tracker.accept(sequence)
            #expect(result == outcome)
        }
        expect(100, .accepted(100))
        expect(40_000, .suspect)
        expect(101, .accepted(101))
        expect(40_000, .suspect)
        expect(40_001, .reset(40_001))
        expect(40_000, .accepted(40_000))
    }
}
