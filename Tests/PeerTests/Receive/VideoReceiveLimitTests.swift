import Basics
import TestSupport
import Testing

@testable import Peer

/// The memory of a stream of packets in the buffer, and the cost of each packet, are bounded.
@Suite("Limits of received video") struct VideoReceiveLimitTests {
    private static let keyframe: [UInt8] = [0x10, 0x10, 0, 0, 0x9D, 1, 0x2A, 0x40, 1, 0xB4, 0, 1, 2, 3]

    private func insert(
        _ buffer: inout VideoReceiveBuffer, _ sequence: Int64, _ payload: [UInt8], type: UInt8 = 96,
        timestamp: Int64 = 0, marker: Bool = false,
        at ms: Int64 = 0
    ) {
        buffer.insert(
            payload: payload.span, payloadType: type, sequence: sequence, timestamp: timestamp, marker: marker,
            at: .zero + .milliseconds(1000 + ms))
    }

    private func frames(_ buffer: inout VideoReceiveBuffer) -> Int {
        var count = 0
        while buffer.nextFrame() != nil { count += 1 }
        return count
    }

    @Test("An access unit of too many units is dropped and counted, a keyframe is requested, and the next one is shown")
    func units() {
        var buffer = VideoReceiveBuffer(codecs: [102: .h264])
        let keyframe = [PayloadTests.sps, PayloadTests.pps, [0x65, 0x88, 1]]
        var sequence = 0 as Int64
        func send(_ payloads: [[UInt8]], timestamp: Int64) {
            for (index, payload) in payloads.enumerated() {
                insert(&buffer, sequence, payload, type: 102, timestamp: timestamp, marker: index == payloads.count - 1)
                sequence += 1
            }
        }
        send(keyframe, timestamp: 0)
        #expect(frames(&buffer) == 1)
        send(H264LimitTests.parameterSets(packets: 300), timestamp: 3000)
        #expect(frames(&buffer) == 0)
        #expect(buffer.statistics.oversizedFrames == 1 && buffer.isAwaitingKeyframe)
        let asks = buffer.takeKeyframeRequest(at: .zero + .seconds(3))
        #expect(asks)
        send(keyframe, timestamp: 6000)
        #expect(frames(&buffer) == 1 && !buffer.isAwaitingKeyframe)
    }

    @Test("A frame without an end is abandoned when the ring is full", arguments: [VideoCodec.vp8, .h264])
    func endless(codec: VideoCodec) {
        var buffer = VideoReceiveBuffer(codecs: [96: .vp8, 102: .h264])
        let type: UInt8 = codec == .vp8 ? 96 : 102
        for sequence in 0..<10_000 as Range<Int64> {
            let payload: [UInt8] =
                switch (codec, sequence) {
                case (.vp8, 0): Self.keyframe
                case (.vp8, _): [0, 1, 2, 3]
                case (_, 0): PayloadTests.sps
                case (_, _): [0x41, 0x9A, 1]
                }
            insert(&buffer, sequence, payload, type: type)
            #expect(frames(&buffer) == 0)
        }
        #expect(buffer.statistics.oversizedFrames >= 1 && buffer.isAwaitingKeyframe)
        insert(&buffer, 10_000, Self.keyframe, timestamp: 9000, marker: true)
        #expect(frames(&buffer) == 1)
    }

    @Test("Large packets reach the limit of bytes before that of the ring")
    func bytes() {
        var buffer = VideoReceiveBuffer(codecs: [96: .vp8])
        let large = [UInt8](repeating: 0, count: 60_000)
        insert(&buffer, 0, Self.keyframe)
        for sequence in 1..<2000 as Range<Int64> {
            insert(&buffer, sequence, large)
            #expect(buffer.bytesHeld <= 3_060_000)
        }
        #expect(buffer.statistics.oversizedFrames >= 1)
        insert(&buffer, 2000, Self.keyframe, timestamp: 9000, marker: true)
        #expect(frames(&buffer) == 1)
    }

    /// Each of these made every packet walk over all that is held.
    @Test(
        "A packet costs the same however much is held",
        arguments: ["no VP8 start", "no H.264 start", "keyframe behind a gap"])
    func cost(kind: String) {
        func run(_ count: Int64) -> Duration {
            var buffer = VideoReceiveBuffer(codecs: [96: .vp8, 102: .h264])
            insert(&buffer, 0, Self.keyframe, marker: true)
            var kinds: (type: UInt8, first: [UInt8], rest: [UInt8]) = (96, [0, 1, 2, 3], [0, 1, 2, 3])
            switch kind {
            case "no H.264 start":
                kinds = (102, [0x65, 0x88, 1], [0x65, 0x88, 1])
                for (index, payload) in [PayloadTests.sps, PayloadTests.pps, [0x65, 0x88, 1]].enumerated() {
                    insert(&buffer, Int64(index) + 1, payload, type: 102, timestamp: 1, marker: index == 2)
                }
            case "keyframe behind a gap": kinds.first = Self.keyframe
            default: break
            }
            _ = frames(&buffer)
            return processorTime {
                for sequence in 0..<count {
                    // The packet before is missing.
                    insert(
                        &buffer, sequence + 6, sequence == 0 ? kinds.first : kinds.rest, type: kinds.type,
                        timestamp: 3000)
                    _ = frames(&buffer)
                    _ = buffer.nextDeadline
                }
            }
        }
        // Other tests run meanwhile: the best of three counts.
        func best(_ count: Int64) -> Duration { (0..<3).map { _ in run(count) }.min() ?? .zero }
        let (small, large) = (best(450), best(1800))
        #expect(large < small * 9 + .milliseconds(100), "\(small), \(large)")
    }

    @Test("Frame starts are found in whatever order packets come")
    func order() {
        var random = SeededRandom(seed: 4)
        for _ in 0..<50 {
            var buffer = VideoReceiveBuffer(codecs: [96: .vp8])
            let order = (0..<40 as Range<Int64>).shuffled(using: &random)
            var count = 0
            for sequence in order {
                // Four packets a frame, each a keyframe; the numbers before 0 are unknown, so what comes late before it
                // is let go.
                insert(
                    &buffer, sequence, sequence % 4 == 0 ? Self.keyframe : [0, 1, 2, 3], timestamp: sequence / 4 * 3000,
                    marker: sequence % 4 == 3)
                count += frames(&buffer)
            }
            #expect(count >= 1)
            #expect(buffer.statistics.malformed == 0)
        }
    }
}

@Suite("Sequence index") struct SequenceIndexTests {
    @Test("It keeps the inserted numbers in order and once")
    func order() {
        var random = SeededRandom(seed: 1)
        var index = SequenceIndex()
        var model = Set<Int64>()
        for _ in 0..<2000 {
            let value = Int64.random(in: -50...50, using: &random)
            switch Int.random(in: 0..<4, using: &random) {
            case 0:
                index.removeBefore(value)
                model = model.filter { $0 >= value }
            default:
                index.insert(value)
                model.insert(value)
            }
            #expect(index.first(from: value) == model.filter { $0 >= value }.min())
            #expect(index.last == model.max())
        }
    }
}
