import Basics
import CFFmpeg
import Codecs

/// Coded pictures of few bytes that need much work or memory to decode, made once when they are first used.
enum DecodeBombs {
    /// The longest side that the server decodes.
    static let side = 4096

    /// A keyframe and pictures that repeat it.
    static let h264 = Result { try flat(.h264, width: side, height: side, frames: 12) }
    static let vp8 = Result { try flat(.vp8, width: side, height: side, frames: 12) }
    /// One keyframe that fits a packet or two.
    static let smallH264 = Result { try single(.h264) }
    static let smallVP8 = Result { try single(.vp8) }
    /// Every frame a keyframe of another size.
    static let h264Sizes = Result { try sizes(.h264) }
    static let vp8Sizes = Result { try sizes(.vp8) }
    /// High 4:4:4 Predictive at 10 bits with 16 reference pictures.
    static let fourFourFour = Result { try fullChroma() }
    /// Moving noise at 640×360: an ordinary stream that fills its rate.
    static let noise = Result { try moving() }

    private static func flat(_ codec: VideoCodec, width: Int, height: Int, frames count: Int) throws
        -> [EncodedVideoFrame]
    {
        let encoder = try makeVideoEncoder(
            VideoEncoderConfiguration(
                codec: codec, width: width, height: height, framesPerSecond: 30, bitRate: .megabits(20), speed: .fast))
        let picture = Picture(width: width, height: height)
        picture.fill(y: 90, u: 110, v: 140)
        return try (0..<count).compactMap {
            try encoder.encode(picture, timestamp: Int64($0 * 3000), forceKeyframe: $0 == 0)
        }
    }

    private static func single(_ codec: VideoCodec) throws -> EncodedVideoFrame {
        guard let frame = try flat(codec, width: 320, height: 180, frames: 1).first else {
            throw BenchError("no keyframe")
        }
        return frame
    }

    private static func sizes(_ codec: VideoCodec) throws -> [EncodedVideoFrame] {
        let sizes = [
            (1280, 720), (64, 2048), (2048, 64), (1920, 1080), (320, 240), (2560, 1440), (176, 144), (1024, 1024),
            (3840, 2160), (640, 480),
        ]
        return try sizes.compactMap { try flat(codec, width: $0.0, height: $0.1, frames: 1).first }
    }

    private static func moving() throws -> [EncodedVideoFrame] {
        let encoder = try makeVideoEncoder(
            VideoEncoderConfiguration(
                codec: .vp8, width: 640, height: 360, framesPerSecond: 30, bitRate: .megabits(1.5), speed: .fast,
                keyframeInterval: .seconds(1)))
        let picture = Picture(width: 640, height: 360)
        picture.fill(y: 120, u: 128, v: 128)
        var random = SeededRandom(seed: 2)
        return try (0..<60).compactMap { index in
            for row in 0..<picture.height {
                for column in stride(from: 0, to: picture.width, by: 8) {
                    let value = UInt8.random(in: 60...200, using: &random)
                    for offset in 0..<8 { picture.y[row * picture.yStride + column + offset] = value }
                }
            }
            return try encoder.encode(picture, timestamp: Int64(index * 3000), forceKeyframe: index == 0)
        }
    }

    /// libavcodec's x264 encoder, because that of `Codecs` makes 4:2:0 only.
    private static func fullChroma() throws -> [EncodedVideoFrame] {
        cffmpeg_silence()
        guard let encoder = avcodec_find_encoder_by_name("libx264"),
            var context = Optional(avcodec_alloc_context3(encoder))
        else {
            throw BenchError("this libavcodec has no libx264")
        }
        defer { avcodec_free_context(&context) }
        guard let opened = context else { throw BenchError("out of memory") }
        opened.pointee.width = Int32(side)
        opened.pointee.height = Int32(side)
        opened.pointee.time_base = AVRational(num: 1, den: 30)
        opened.pointee.pix_fmt = AV_PIX_FMT_YUV444P10LE
        opened.pointee.refs = 16
        opened.pointee.gop_size = 1000
        opened.pointee.max_b_frames = 0
        opened.pointee.thread_count = 1
        av_opt_set(opened.pointee.priv_data, "preset", "ultrafast", 0)
        av_opt_set(opened.pointee.priv_data, "tune", "zerolatency", 0)
        // Slices of one packet each, no lookahead, and every picture a reference.
        av_opt_set(
            opened.pointee.priv_data, "x264-params", "ref=16:rc-lookahead=0:scenecut=0:repeat-headers=1:level=6.2", 0)
        guard avcodec_open2(opened, encoder, nil) >= 0 else { throw BenchError("libx264 refuses 4:4:4 at 10 bits") }
        var picture = av_frame_alloc(), packet = av_packet_alloc()
        defer {
            av_frame_free(&picture)
            av_packet_free(&packet)
        }
        guard let picture, let packet else { throw BenchError("out of memory") }
        picture.pointee.format = AV_PIX_FMT_YUV444P10LE.rawValue
        picture.pointee.width = Int32(side)
        picture.pointee.height = Int32(side)
        guard av_frame_get_buffer(picture, 0) >= 0,
            let planes = [picture.pointee.data.0, picture.pointee.data.1, picture.pointee.data.2]
                as? [UnsafeMutablePointer<UInt8>]
        else { throw BenchError("out of memory") }
        let strides = [picture.pointee.linesize.0, picture.pointee.linesize.1, picture.pointee.linesize.2]
        for (plane, stride) in zip(planes, strides) {
            UnsafeMutableRawPointer(plane).withMemoryRebound(to: UInt16.self, capacity: Int(stride) / 2 * side) {
                $0.update(repeating: 400, count: Int(stride) / 2 * side)
            }
        }
        var frames: [EncodedVideoFrame] = []
        for index in 0..<20 {
            picture.pointee.pts = Int64(index)
            guard avcodec_send_frame(opened, picture) >= 0 else { throw BenchError("libx264 takes no picture") }
            while avcodec_receive_packet(opened, packet) >= 0 {
                let data = Array(UnsafeBufferPointer(start: packet.pointee.data, count: Int(packet.pointee.size)))
                frames.append(
                    EncodedVideoFrame(
                        codec: .h264, data: data, isKeyframe: packet.pointee.flags & AV_PKT_FLAG_KEY != 0,
                        timestamp: Int64(index * 3000), width: side,
                        height: side))
                av_packet_unref(packet)
            }
        }
        return frames
    }
}
