import Basics
import Codecs
import Testing

@Suite(.serialized) struct VideoCodecTests {
    private func configuration(
        _ codec: VideoCodec, rate: BitRate = .kilobits(600), width: Int = 320, height: Int = 240
    ) -> VideoEncoderConfiguration {
        VideoEncoderConfiguration(codec: codec, width: width, height: height, framesPerSecond: 30, bitRate: rate)
    }

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

    @Test("Each encoded frame is decoded at once to its picture", arguments: VideoCodec.allCases)
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

    @Test("A running encoder follows the bit rate without a keyframe", arguments: VideoCodec.allCases)
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

    @Test("Half as many frames get twice the bits each", arguments: VideoCodec.allCases)
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

    @Test("A keyframe whose parameter sets were lost is never decoded with those of the previous stream")
    func lostParameterSets() throws {
        var large = configuration(.h264)
        large.parameterSetID = 3
        var small = configuration(.h264, width: 160, height: 120)
        small.parameterSetID = 4
        let (before, after) = (try makeVideoEncoder(large), try makeVideoEncoder(small))
        let decoder = try VideoDecoder(codec: .h264)
        let sent1 = try before.encode(scene(0), timestamp: 0, forceKeyframe: true)
        let shown = try decoder.decode(try #require(sent1))
        #expect(shown?.width == 320)
        let sent2 = try after.encode(scene(1, width: 160, height: 120), timestamp: 3000, forceKeyframe: true)
        let whole = try #require(sent2)
        var bare = whole
        bare.data = H264.units(inAnnexB: whole.data).filter { AnnexB.type(of: $0, in: whole.data) == 5 }.flatMap {
            [0, 0, 0, 1] + whole.data[$0]
        }
        // The decoder returns an error or no picture, but no garbage.
        #expect((try? decoder.decode(bare)) == nil)
        let mended = try decoder.decode(whole)
        #expect(mended?.width == 160)
    }

    @Test("Frames of the upper layer can all be lost", arguments: VideoCodec.allCases)
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

    @Test("A decoder follows a change of size", arguments: VideoCodec.allCases)
    func sizeChange(codec: VideoCodec) throws {
        let decoder = try VideoDecoder(codec: codec)
        var time: Int64 = 0
        for (width, height) in [(320, 240), (176, 144), (640, 360), (90, 162)] {
            let encoder = try makeVideoEncoder(configuration(codec, width: width, height: height))
            for index in 0..<3 {
                let source = scene(index, width: width, height: height)
                let frame = try #require(try encoder.encode(source, timestamp: time, forceKeyframe: false))
                let picture = try #require(try decoder.decode(frame))
                #expect(picture.width == width && picture.height == height && luminancePSNR(source, picture) > 24)
                time += 3000
            }
        }
    }

    @Test("Damaged data costs frames; the decoder goes on", arguments: VideoCodec.allCases)
    func mutation(codec: VideoCodec) throws {
        let encoder = try makeVideoEncoder(configuration(codec))
        let frames = try (0..<12).compactMap {
            try encoder.encode(scene($0), timestamp: Int64($0) * 3000, forceKeyframe: false)
        }
        let decoder = try VideoDecoder(codec: codec)
        var random = SeededRandom(seed: 7)
        for _ in 0..<60 {
            for frame in frames {
                var damaged = frame
                for _ in 0..<Int.random(in: 1...8, using: &random) {
                    damaged.data[Int.random(in: 0..<damaged.data.count, using: &random)] = UInt8.random(
                        in: 0...255, using: &random)
                }
                if Bool.random(using: &random) {
                    damaged.data.removeLast(Int.random(in: 0..<damaged.data.count, using: &random))
                }
                do throws(CodecError) {
                    if let picture = try decoder.decode(damaged) { #expect(picture.width > 0 && picture.height > 0) }
                } catch {
                    #expect(decoder.needsKeyframe)
                }
            }
        }
        decoder.reset()
        let picture = try #require(try decoder.decode(frames[0]))
        #expect(luminancePSNR(scene(0), picture) > 24 && !decoder.needsKeyframe)
    }

    @Test("The fast setting still deblocks and keeps its rate", arguments: VideoCodec.allCases)
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

    @Test("Keyframes are no further apart than the configured interval", arguments: VideoCodec.allCases)
    func keyframeInterval(codec: VideoCodec) throws {
        var wanted = configuration(codec)
        wanted.keyframeInterval = .seconds(1)
        let encoder = try makeVideoEncoder(wanted)
        let keyframes = try (0..<65).filter {
            try encoder.encode(scene($0), timestamp: Int64($0) * 3000, forceKeyframe: false)?.isKeyframe ?? false
        }
        #expect(keyframes == [0, 30, 60])
    }

    @Test("Frames before the first keyframe show nothing", arguments: VideoCodec.allCases)
    func lateStart(codec: VideoCodec) throws {
        let encoder = try makeVideoEncoder(configuration(codec))
        _ = try encoder.encode(scene(0), timestamp: 0, forceKeyframe: false)
        let frame = try #require(try encoder.encode(scene(1), timestamp: 3000, forceKeyframe: false))
        let decoder = try VideoDecoder(codec: codec)
        #expect((try? decoder.decode(frame)) == nil)
        #expect(decoder.needsKeyframe)
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
