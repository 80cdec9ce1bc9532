import Basics
import Codecs
import Testing

@Suite(.serialized) struct VideoDecoderTests {
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

    @Test("A decoder follows a change of size", arguments: VideoCodec.received)
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

    @Test("Damaged data costs frames; the decoder goes on", arguments: VideoCodec.received)
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

    @Test("Frames before the first keyframe show nothing", arguments: VideoCodec.received)
    func lateStart(codec: VideoCodec) throws {
        let encoder = try makeVideoEncoder(configuration(codec))
        _ = try encoder.encode(scene(0), timestamp: 0, forceKeyframe: false)
        let frame = try #require(try encoder.encode(scene(1), timestamp: 3000, forceKeyframe: false))
        let decoder = try VideoDecoder(codec: codec)
        #expect((try? decoder.decode(frame)) == nil)
        #expect(decoder.needsKeyframe)
    }
}
