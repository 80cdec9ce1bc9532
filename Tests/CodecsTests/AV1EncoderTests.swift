import Basics
import Codecs
import Testing

@Suite("AV1", .serialized) struct AV1EncoderTests {
    @Test("each frame is decoded at once to its picture by dav1d, and keyframes come when they are asked for")
    func roundTrip() throws {
        let encoder = try makeVideoEncoder(configuration(.av1, rate: .megabits(1)))
        let decoder = try #require(AV1TestDecoder())
        for index in 0..<30 {
            let picture = scene(index)
            let timestamp = 1_000_000_000_000 + Int64(index) * 3000
            let frame = try #require(try encoder.encode(picture, timestamp: timestamp, forceKeyframe: index == 20))
            #expect(frame.timestamp == timestamp && frame.codec == .av1 && frame.temporalLayer == 0)
            #expect(frame.isKeyframe == (index == 0 || index == 20))
            let decoded = try #require(decoder.decode(frame.data))
            #expect(luminancePSNR(picture, decoded) > 28, "frame \(index)")
        }
        let late = try #require(AV1TestDecoder())
        // After an hour in which nobody took it.
        let time: Int64 = 1_000_324_000_000
        let key = try #require(try encoder.encode(scene(30), timestamp: time, forceKeyframe: true))
        #expect(late.decode(key.data) != nil, "a keyframe has its sequence header")
        #expect(throws: CodecError.self) {
            try encoder.encode(scene(31), timestamp: time, forceKeyframe: false)
        }
        #expect(throws: CodecError.self) {
            try encoder.encode(scene(31, width: 160), timestamp: time + 3000, forceKeyframe: false)
        }
    }

    @Test("a running encoder follows the bit rate without a keyframe")
    func rate() throws {
        let encoder = try makeVideoEncoder(
            VideoEncoderConfiguration(
                codec: .av1, width: 640, height: 360, framesPerSecond: 15, bitRate: .kilobits(300)))
        var (time, index) = (Int64(0), 0)
        func rate(_ seconds: Int) throws -> Int {
            var sum = 0
            for _ in 0..<seconds * 15 {
                let frame = try encoder.encode(
                    scene(index, width: 640, height: 360), timestamp: time, forceKeyframe: false)
                sum += frame?.data.count ?? 0
                (time, index) = (time + 6000, index + 1)
            }
            return sum * 8 / seconds / 1000
        }
        _ = try rate(2)
        let high = try rate(4)
        encoder.setBitRate(.kilobits(100))
        _ = try rate(2)
        let low = try rate(4)
        encoder.setBitRate(.kilobits(200))
        _ = try rate(2)
        let middle = try rate(4)
        #expect(
            (220...380).contains(high) && (60...140).contains(low) && (140...260).contains(middle),
            "\((high, low, middle))")
    }

    @Test("a still has no more bits than it is given", arguments: [21, 30, 60])
    func stills(kilobits: Int) throws {
        let encoder = try makeVideoEncoder(
            VideoEncoderConfiguration(
                codec: .av1, width: 640, height: 360, framesPerSecond: 1, bitRate: .kilobits(kilobits)))
        let sizes = try (0..<10).map { index in
            let picture = scene(index * 40, width: 640, height: 360)
            return try encoder.encode(picture, timestamp: Int64(index) * 315_000, forceKeyframe: true)?.data.count ?? 0
        }
        let shares = sizes.map { Double($0 * 8) / Double(kilobits * 1000) }
        #expect(shares.dropFirst(2).allSatisfy { $0 <= 1.25 }, "\(kilobits): \(shares)")
    }

    @Test("what stands still costs next to nothing once it is sharp")
    func still() throws {
        let encoder = try makeVideoEncoder(
            VideoEncoderConfiguration(
                codec: .av1, width: 640, height: 360, framesPerSecond: 15, bitRate: .kilobits(300)))
        let picture = scene(0, width: 640, height: 360)
        let sizes = try (0..<90).map { index in
            try encoder.encode(picture, timestamp: Int64(index) * 6000, forceKeyframe: false)?.data.count ?? 0
        }
        let (first, last) = (sizes.prefix(30).reduce(0, +), sizes.suffix(30).reduce(0, +))
        #expect(last * 10 < first, "\(first) bytes at first, \(last) in the last two seconds")
    }
}
