import Basics
import Codecs
import Testing

@Suite(.serialized) struct VideoEncoderTests {
    /// Bytes of `count` frames; frames that were dropped count as none.
    private func bytes(_ encoder: any VideoEncoder, frames: Range<Int>, ticksPerFrame: Int = 3000, start: inout Int64)
        throws
        -> Int
    {
        var sum = 0
        for index in frames {
            sum += try encoder.encode(scene(index), timestamp: start, forceKeyframe: false)?.data.count ?? 0
            start += Int64(ticksPerFrame)
        }
        return sum
    }

    @Test("Each encoded frame is decoded at once to its picture", arguments: VideoCodec.received)
    func roundTrip(codec: VideoCodec) throws {
        let encoder = try makeVideoEncoder(configuration(codec, rate: .megabits(1)))
        let decoder = try VideoDecoder(codec: codec)
        for index in 0..<45 {
            let picture = scene(index)
            let timestamp = 1_000_000_000_000 + Int64(index) * 3000
            let frame = try #require(try encoder.encode(picture, timestamp: timestamp, forceKeyframe: index == 20))
            #expect(frame.timestamp == timestamp && frame.codec == codec && frame.width == 320 && frame.height == 240)
            #expect(frame.isKeyframe == (index == 0 || index == 20))
            let decoded = try #require(try decoder.decode(frame))
            #expect(luminancePSNR(picture, decoded) > 28, "frame \(index)")
            #expect(!decoder.needsKeyframe)
        }
    }

    @Test("A running encoder follows the bit rate without a keyframe", arguments: VideoCodec.received)
    func rate(codec: VideoCodec) throws {
        let encoder = try makeVideoEncoder(configuration(codec, rate: .kilobits(1000)))
        var time: Int64 = 0
        _ = try bytes(encoder, frames: 0..<30, start: &time)
        let high = try bytes(encoder, frames: 30..<90, start: &time)
        encoder.setBitRate(.kilobits(300))
        _ = try bytes(encoder, frames: 90..<120, start: &time)
        let low = try bytes(encoder, frames: 120..<180, start: &time)
        encoder.setBitRate(.kilobits(800))
        _ = try bytes(encoder, frames: 180..<210, start: &time)
        let middle = try bytes(encoder, frames: 210..<270, start: &time)
        let rates = [high, low, middle].map { $0 * 8 / 2 / 1000 }
        #expect(
            (750...1250).contains(rates[0]) && (200...400).contains(rates[1]) && (600...1000).contains(rates[2]),
            "\(rates)")
        #expect(encoder.configuration.bitRate == .kilobits(800))
    }

    /// As `Rendition` makes them: keyframes alone, 3.5 s apart, each with the bits of one second.
    @Test(
        "A still has no more bits than it is given, and most of them after a few", arguments: VideoCodec.received,
        [21, 30, 60] as [Int])
    func stills(codec: VideoCodec, kilobits: Int) throws {
        let encoder = try makeVideoEncoder(
            VideoEncoderConfiguration(
                codec: codec, width: 320, height: 180, framesPerSecond: 1, bitRate: .kilobits(kilobits)))
        let sizes = try (0..<12).map { index in
            let picture = scene(index * 40, width: 320, height: 180)
            return try encoder.encode(picture, timestamp: Int64(index) * 315_000, forceKeyframe: true)?.data.count ?? 0
        }
        let shares = sizes.map { Double($0 * 8) / Double(kilobits * 1000) }
        #expect(shares.allSatisfy { $0 <= 1.1 }, "\(codec) \(kilobits): \(shares)")
        #expect(shares.suffix(4).allSatisfy { $0 >= 0.4 }, "\(codec) \(kilobits): \(shares)")
    }

    @Test("Half as many frames get twice the bits each", arguments: VideoCodec.received)
    func frameRate(codec: VideoCodec) throws {
        let encoder = try makeVideoEncoder(configuration(codec, rate: .kilobits(600)))
        var time: Int64 = 0
        _ = try bytes(encoder, frames: 0..<30, start: &time)
        encoder.setFrameRate(15)
        _ = try bytes(encoder, frames: 30..<60, ticksPerFrame: 6000, start: &time)
        let rate = try bytes(encoder, frames: 60..<120, ticksPerFrame: 6000, start: &time) * 8 / 4 / 1000
        #expect((400...800).contains(rate), "\(rate)")
    }

    @Test("Every IDR has its parameter sets, and a mode 0 stream has no NAL unit above its limit")
    func h264Units() throws {
        var wanted = configuration(.h264, rate: .megabits(1.5))
        wanted.maxNALSize = 1000
        let encoder = try makeVideoEncoder(wanted)
        for index in 0..<20 {
            let frame = try #require(
                try encoder.encode(scene(index), timestamp: Int64(index) * 3000, forceKeyframe: index == 10))
            let units = H264.units(inAnnexB: frame.data)
            let types = units.map { AnnexB.type(of: $0, in: frame.data) }
            #expect(units.allSatisfy { $0.count <= 1000 })
            #expect(frame.data.prefix(4) == [0, 0, 0, 1])
            if frame.isKeyframe {
                #expect(types.prefix(3) == [7, 8, 5])
                // Constrained baseline (RFC 6184 §8.1): profile_idc 66 with constraint_set1.
                let sps = frame.data[units[0]]
                #expect(sps[sps.startIndex + 1] == 66 && sps[sps.startIndex + 2] & 0x40 != 0)
            } else {
                #expect(types.allSatisfy { $0 == 1 })
            }
        }
    }

    @Test("Frames of the upper layer can all be lost", arguments: VideoCodec.received)
    func temporalLayers(codec: VideoCodec) throws {
        var wanted = configuration(codec, rate: .megabits(1))
        wanted.temporalLayers = 2
        let encoder = try makeVideoEncoder(wanted)
        let decoder = try VideoDecoder(codec: codec)
        var layers: [UInt8] = []
        for index in 0..<40 {
            let picture = scene(index)
            let frame = try #require(
                try encoder.encode(picture, timestamp: Int64(index) * 3000, forceKeyframe: index == 25))
            layers.append(frame.temporalLayer)
            guard frame.temporalLayer == 0 else { continue }
            let decoded = try #require(try decoder.decode(frame))
            #expect(luminancePSNR(picture, decoded) > 27, "frame \(index)")
        }
        #expect(layers.prefix(6) == [0, 1, 0, 1, 0, 1])
        #expect(layers[25] == 0 && layers[26] == 1)
        #expect(encoder.configuration.temporalLayers == 2)
    }

    @Test("The fast setting still deblocks and keeps its rate", arguments: VideoCodec.received)
    func fast(codec: VideoCodec) throws {
        var wanted = configuration(codec)
        wanted.speed = .fast
        let encoder = try makeVideoEncoder(wanted)
        let decoder = try VideoDecoder(codec: codec)
        var bytes = 0
        for index in 0..<60 {
            let picture = scene(index)
            guard let frame = try encoder.encode(picture, timestamp: Int64(index) * 3000, forceKeyframe: false) else {
                continue
            }
            bytes += frame.data.count
            let decoded = try #require(try decoder.decode(frame))
            #expect(luminancePSNR(picture, decoded) > 25, "frame \(index)")
        }
        #expect((300...900).contains(bytes * 8 / 2 / 1000), "\(bytes)")
    }

    @Test("Keyframes are no further apart than the configured interval", arguments: VideoCodec.received)
    func keyframeInterval(codec: VideoCodec) throws {
        var wanted = configuration(codec)
        wanted.keyframeInterval = .seconds(1)
        let encoder = try makeVideoEncoder(wanted)
        let keyframes = try (0..<65).filter {
            try encoder.encode(scene($0), timestamp: Int64($0) * 3000, forceKeyframe: false)?.isKeyframe ?? false
        }
        #expect(keyframes == [0, 30, 60])
    }

    @Test("Impossible settings are refused with a reason")
    func refusal() {
        #expect(throws: CodecError.self) { try makeVideoEncoder(configuration(.vp8, width: 321)) }
        #expect(throws: CodecError.self) { try makeVideoEncoder(configuration(.h264, rate: .zero)) }
        #expect(throws: CodecError.self) {
            _ = try makeVideoEncoder(configuration(.h264)).encode(
                scene(0, width: 64, height: 64), timestamp: 0, forceKeyframe: false)
        }
    }
}
