import Basics
import Testing

@testable import Peer

@Suite("The ring of video packets") struct VideoPacketRingTests {
    /// Payloads that begin a keyframe, begin an interframe, and continue a frame.
    private static let key: [UInt8] = [0x10, 0, 0, 0x9D, 1, 0x2A]
    private static let inter: [UInt8] = [0x10, 1]
    private static let rest: [UInt8] = [0x00, 7, 7]

    private func insert(
        _ sequence: Int64, _ payload: [UInt8] = rest, at milliseconds: Int64 = 0, into ring: inout VideoPacketRing
    ) {
        _ = ring.note(sequence)
        ring.insert(
            VideoPacket(
                sequence: sequence, timestamp: sequence, marker: false, codec: .vp8,
                arrival: .zero + .milliseconds(milliseconds), isRepair: false),
            payload.span, knowsParameterSets: false)
    }

    @Test("A number is the first, behind, ahead of a gap or too old")
    func places() {
        var ring = VideoPacketRing(capacity: 64)
        let places = [100, 101, 105, 103, 170, 106, 107].map { (sequence: Int64) in
            switch ring.note(sequence) {
            case .first: "first"
            case .behind: "behind"
            case .ahead(let gap): "ahead of \(gap.count)"
            case .tooOld: "too old"
            }
        }
        #expect(places == ["first", "ahead of 0", "ahead of 3", "behind", "ahead of 64", "too old", "behind"])
        #expect(ring.highest == 170)
    }

    @Test("Frames are found by the packets that begin them, until those are dropped")
    func starts() {
        var ring = VideoPacketRing(capacity: 64)
        for (index, payload) in [Self.key, Self.rest, Self.inter, Self.key, Self.rest].enumerated() {
            insert(Int64(index), payload, into: &ring)
        }
        #expect(ring.firstKeyframeStart == 0 && ring.lastKeyframeStart == 3)
        #expect(ring.vp8FrameStart(from: 1)?.sequence == 2)
        ring.drop(upTo: 1)
        #expect(ring.firstKeyframeStart == 3 && ring.oldest == 1)
        ring.drop(upTo: 5)
        #expect(ring.firstKeyframeStart == nil && ring.vp8FrameStart(from: 0) == nil && ring.bytes == 0)
    }

    @Test("A run is removed as a whole, and its memory serves the next packets")
    func runs() {
        var ring = VideoPacketRing(capacity: 64)
        insert(0, Self.key, at: 5, into: &ring)
        insert(1, [], at: 6, into: &ring)
        insert(2, Self.rest, at: 3, into: &ring)
        #expect(ring.bytes == 9)
        var run = ring.take(0..<3)
        #expect(run.payloads == [Self.key, Self.rest])
        #expect(run.arrival == .zero + .milliseconds(5) && run.timestamp == 0)
        #expect(ring.bytes == 0 && !ring.contains(0))
        ring.recycle(&run.payloads)
        #expect(run.payloads.isEmpty)
    }

    @Test("A packet replaces an older one in its slot")
    func wrap() {
        var ring = VideoPacketRing(capacity: 64)
        insert(0, Self.key, into: &ring)
        insert(64, Self.rest, into: &ring)
        #expect(!ring.contains(0) && ring.contains(64))
        #expect(ring.bytes == 3)
    }

    @Test("Packets are dropped by age, up to a limit")
    func age() {
        var ring = VideoPacketRing(capacity: 64)
        for sequence in 0..<10 as Range<Int64> { insert(sequence, at: sequence, into: &ring) }
        ring.dropOlder(than: .zero + .milliseconds(5), upTo: 3)
        #expect(ring.oldest == 3)
        ring.dropOlder(than: .zero + .milliseconds(5), upTo: .max)
        #expect(ring.oldest == 5)
    }
}
