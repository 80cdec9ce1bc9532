import Basics
import Testing

@testable import Codecs

/// Writes headers bit by bit.
private struct BitWriter {
    private(set) var bits: [UInt8] = []

    mutating func bits(_ value: Int, _ count: Int) {
        for shift in stride(from: count - 1, through: 0, by: -1) { bits.append(UInt8(value >> shift & 1)) }
    }

    mutating func unsigned(_ value: Int) {
        let length = (value + 1).bitWidth - (value + 1).leadingZeroBitCount
        bits(0, length - 1)
        bits(value + 1, length)
    }

    /// With the stop bit, and emulation prevention (H.264 §7.4.1.1).
    var payload: [UInt8] {
        var all = bits + [1]
        while all.count % 8 != 0 { all.append(0) }
        var bytes: [UInt8] = []
        for start in stride(from: 0, to: all.count, by: 8) {
            let byte = all[start..<start + 8].reduce(0) { $0 << 1 | $1 }
            if bytes.suffix(2) == [0, 0], byte <= 3 { bytes.append(3) }
            bytes.append(byte)
        }
        return bytes
    }
}

private struct SPS {
    var profile = 66
    var chroma = 1
    var depth = 8
    var scalingLists = 0
    var orderType = 0
    var references = 1
    var width = 640
    var height = 368
    var isInterlaced = false

    /// The NAL unit, without a start code.
    var unit: [UInt8] {
        var writer = BitWriter()
        writer.bits(profile, 8)
        writer.bits(0, 8)
        writer.bits(40, 8)
        writer.unsigned(0)
        if profile >= 100 {
            writer.unsigned(chroma)
            if chroma == 3 { writer.bits(0, 1) }
            writer.unsigned(depth - 8)
            writer.unsigned(depth - 8)
            writer.bits(0, 1)
            writer.bits(scalingLists > 0 ? 1 : 0, 1)
            if scalingLists > 0 {
                for list in 0..<(chroma == 3 ? 12 : 8) {
                    writer.bits(list < scalingLists ? 1 : 0, 1)
                    // delta_scale 0 repeats the previous value.
                    if list < scalingLists { for _ in 0..<(list < 6 ? 16 : 64) { writer.unsigned(0) } }
                }
            }
        }
        writer.unsigned(0)
        writer.unsigned(orderType)
        if orderType == 0 { writer.unsigned(2) }
        if orderType == 1 {
            writer.bits(0, 1)
            for _ in 0..<2 { writer.unsigned(0) }
            writer.unsigned(3)
            for _ in 0..<3 { writer.unsigned(5) }
        }
        writer.unsigned(references)
        writer.bits(0, 1)
        writer.unsigned(width / 16 - 1)
        writer.unsigned(height / (isInterlaced ? 32 : 16) - 1)
        writer.bits(isInterlaced ? 0 : 1, 1)
        if isInterlaced { writer.bits(0, 1) }
        writer.bits(0, 3)
        return [0x67] + writer.payload
    }

    var format: VideoFormat? { VideoFormat(h264: unit, 0..<unit.count) }
    /// An access unit of the set alone.
    var frame: EncodedVideoFrame {
        EncodedVideoFrame(codec: .h264, data: [0, 0, 0, 1] + unit, isKeyframe: true, timestamp: 0)
    }
}

@Suite("Formats in stream headers") struct VideoFormatTests {
    @Test("An H.264 parameter set gives size, references and sample format, whatever optional fields it has")
    func parameterSets() throws {
        let plain = try #require(SPS(references: 4).format)
        #expect(plain.width == 640 && plain.height == 368 && plain.referenceFrames == 4 && plain.refusal == nil)
        for profile in [66, 77, 88, 100, 110, 122, 244] {
            #expect(SPS(profile: profile).format?.width == 640, "\(profile)")
        }
        for order in 0...2 { #expect(SPS(orderType: order).format?.height == 368, "\(order)") }
        for lists in 1...8 { #expect(SPS(profile: 100, scalingLists: lists).format?.width == 640, "\(lists)") }
        #expect(SPS(height: 352, isInterlaced: true).format?.height == 352)
    }

    @Test("The parameter sets of x264 are parsed")
    func real() throws {
        let encoder = try makeVideoEncoder(
            VideoEncoderConfiguration(
                codec: .h264, width: 320, height: 240, framesPerSecond: 30, bitRate: .kilobits(300)))
        let frame = try #require(try encoder.encode(scene(0), timestamp: 0, forceKeyframe: true))
        let unit = try #require(H264.units(inAnnexB: frame.data).first)
        let format = try #require(VideoFormat(h264: frame.data, unit))
        #expect(format.width == 320 && format.height == 240 && format.refusal == nil)
    }

    @Test("Formats other than 8 bit 4:2:0 are refused, as are those with too many reference pictures")
    func refusals() {
        #expect(SPS(profile: 244, chroma: 3).format?.refusal?.contains("4:2:0") == true)
        #expect(SPS(profile: 122, chroma: 2).format?.refusal != nil)
        #expect(SPS(profile: 100, chroma: 0).format?.refusal != nil)
        #expect(SPS(profile: 110, depth: 10).format?.refusal != nil)
        #expect(
            SPS(profile: 244, chroma: 3, depth: 14, references: 16, width: 4096, height: 4096).format?.refusal != nil)
        #expect(SPS(width: 8192, height: 4096).format?.refusal?.contains("larger") == true)
        #expect(SPS(references: 16, width: 4096, height: 4096).format?.refusal?.contains("16 reference frames") == true)
        #expect(SPS(references: 3, width: 4096, height: 4096).format?.refusal == nil)
        #expect(SPS(references: 16, width: 1920, height: 1088).format?.refusal == nil)
        #expect(SPS(references: 5, width: 3840, height: 2160).format?.refusal == nil)
    }

    @Test("A decoder decodes no frame of a refused format, and goes on with the next supported one")
    func decoder() throws {
        let decoder = try VideoDecoder(codec: .h264)
        for bad in [
            SPS(profile: 244, chroma: 3), SPS(profile: 110, depth: 10), SPS(references: 16, width: 4096, height: 4096),
        ] {
            #expect { try decoder.decode(bad.frame) } throws: { error in
                if case CodecError.unsupportedInput = error { true } else { false }
            }
            #expect(decoder.format == nil && decoder.needsKeyframe)
        }
        var two = SPS().frame
        two.data += SPS(width: 320).frame.data
        #expect(throws: CodecError.self, "two sizes in one access unit") { try decoder.decode(two) }
        let encoder = try makeVideoEncoder(
            VideoEncoderConfiguration(
                codec: .h264, width: 320, height: 240, framesPerSecond: 30, bitRate: .kilobits(300)))
        let frame = try #require(try encoder.encode(scene(0), timestamp: 0, forceKeyframe: true))
        #expect(try decoder.decode(frame)?.width == 320)
        #expect(decoder.format?.height == 240)
    }

    @Test(
        "A frame that is not admitted is not decoded, and what follows needs a keyframe", arguments: VideoCodec.received
    )
    func admission(codec: VideoCodec) throws {
        let encoder = try makeVideoEncoder(
            VideoEncoderConfiguration(
                codec: codec, width: 320, height: 240, framesPerSecond: 30, bitRate: .kilobits(300)))
        let decoder = try VideoDecoder(codec: codec)
        var asked: [Int] = []
        for index in 0..<4 {
            let frame = try #require(
                try encoder.encode(scene(index), timestamp: Int64(index) * 3000, forceKeyframe: false))
            let picture = try decoder.decode(frame) { format in
                asked.append(format.pixels)
                return index < 2
            }
            #expect((picture != nil) == (index < 2))
        }
        // The decoder asks for each frame, not only for those with a header.
        #expect(asked == [76_800, 76_800, 76_800, 76_800] && decoder.needsKeyframe)
    }

    @Test("A VP8 keyframe gives its size; any other data gives no format")
    func vp8() {
        // Frame tag of a keyframe, start code, 640 × 360 with a scale of 1, which is ignored (RFC 6386 §9.1).
        let header: [UInt8] = [0x10, 0x00, 0x00, 0x9D, 0x01, 0x2A, 0x80, 0x42, 0x68, 0x01]
        #expect(VideoFormat(vp8: header).map { [$0.width, $0.height] } == [640, 360])
        #expect(VideoFormat(vp8: header + [1, 2, 3]) != nil)
        for count in 0..<10 { #expect(VideoFormat(vp8: Array(header[..<count])) == nil) }
        #expect(VideoFormat(vp8: [0x11] + header.dropFirst()) == nil, "no keyframe")
        #expect(VideoFormat(vp8: header.dropLast(4) + [0, 0, 0, 0]) == nil, "no pixels")
        #expect(
            VideoFormat(vp8: header.dropLast(4) + [0x00, 0x10, 0x00, 0x10]).map { $0.refusal == nil } == true,
            "4096 × 4096")
        #expect(VideoFormat(vp8: header.dropLast(4) + [0xFF, 0x3F, 0xFF, 0x3F])?.refusal != nil)
    }

    @Test("Malformed parameter sets give no format and never trap")
    func noise() {
        var random = SeededRandom(seed: 3)
        let good = SPS(profile: 100, scalingLists: 8, orderType: 1).unit
        for _ in 0..<20_000 {
            var bytes = good
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            bytes.removeLast(Int.random(in: 0..<bytes.count, using: &random))
            if let format = VideoFormat(h264: bytes, 0..<bytes.count) {
                #expect(format.pixels > 0 && format.referenceFrames <= 16)
            }
        }
        #expect(VideoFormat(h264: [], 0..<0) == nil)
        #expect(VideoFormat(h264: [0x67], 0..<9) == nil)
    }
}
