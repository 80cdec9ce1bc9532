import Basics
import CFFmpeg

/// x264 through libavcodec: constrained baseline, constant rate, SPS and PPS before every IDR.
final class H264Encoder: VideoEncoder {
    private(set) var configuration: VideoEncoderConfiguration

    private let context: UnsafeMutablePointer<AVCodecContext>
    private let input: Frame
    private let output: Packet
    /// The rate control counts in frames of the rate that it was opened with; see `applyRate`.
    private let nominalFramesPerSecond: Double

    init(_ wanted: VideoEncoderConfiguration) throws(CodecError) {
        FFmpeg.silenced
        var configuration = wanted
        // x264 cannot leave a P frame unreferenced, so there is nothing that could be dropped.
        configuration.temporalLayers = 1
        self.configuration = configuration
        nominalFramesPerSecond = configuration.framesPerSecond
        input = try Frame()
        output = try Packet()
        guard let codec = avcodec_find_encoder_by_name("libx264") else { throw .unavailable("the libx264 encoder") }
        var context: UnsafeMutablePointer<AVCodecContext>? = try FFmpeg.allocated(avcodec_alloc_context3(codec), "H.264 encoder")
        var options = Self.options(configuration)
        defer { av_dict_free(&options) }
        if let context { Self.fill(context, configuration) }
        let result = avcodec_open2(context, codec, &options)
        let refused = av_dict_get(options, "", nil, AV_DICT_IGNORE_SUFFIX).map { String(cString: $0.pointee.key) }
        guard result >= 0, refused == nil, let opened = context else {
            avcodec_free_context(&context)
            throw .failed(operation: "H.264 encoder", reason: refused.map { "unknown option \($0)" } ?? FFmpeg.reason(result))
        }
        self.context = opened
    }

    deinit {
        var context: UnsafeMutablePointer<AVCodecContext>? = context
        avcodec_free_context(&context)
    }

    private static func fill(_ context: UnsafeMutablePointer<AVCodecContext>, _ configuration: VideoEncoderConfiguration) {
        context.pointee.width = Int32(configuration.width)
        context.pointee.height = Int32(configuration.height)
        context.pointee.pix_fmt = AV_PIX_FMT_YUV420P
        context.pointee.time_base = AVRational(num: 1, den: 90_000)
        context.pointee.framerate = AVRational(num: Int32(configuration.framesPerSecond * 1000), den: 1000)
        context.pointee.thread_count = 1
        context.pointee.max_b_frames = 0
        context.pointee.gop_size = Int32(clamping: configuration.keyframeIntervalFrames ?? 1 << 30)
        context.pointee.bit_rate = Int64(configuration.bitRate.bitsPerSecond)
        context.pointee.rc_max_rate = Int64(configuration.bitRate.bitsPerSecond)
        context.pointee.rc_buffer_size = bufferSize(configuration, rate: Double(configuration.bitRate.bitsPerSecond))
        // Written into the stream, since players guess BT.709 for larger pictures that say nothing.
        context.pointee.color_range = AVCOL_RANGE_MPEG
        context.pointee.colorspace = AVCOL_SPC_SMPTE170M
        context.pointee.color_primaries = AVCOL_PRI_SMPTE170M
        context.pointee.color_trc = AVCOL_TRC_SMPTE170M
    }

    private static func options(_ configuration: VideoEncoderConfiguration) -> OpaquePointer? {
        var parameters = "repeat-headers=1:scenecut=0:weightp=0:trellis=0:aq-mode=0:force-cfr=1"
        if configuration.speed == .fast { parameters += ":no-deblock=0:deblock=0,0" }
        if let size = configuration.maxNALSize { parameters += ":slice-max-size=\(max(size, 200))" }
        var options: OpaquePointer?
        av_dict_set(&options, "preset", configuration.speed == .fast ? "ultrafast" : "superfast", 0)
        av_dict_set(&options, "tune", "zerolatency", 0)
        av_dict_set(&options, "profile", "baseline", 0)
        av_dict_set(&options, "forced-idr", "1", 0)
        av_dict_set(&options, "x264-params", parameters, 0)
        return options
    }

    private static func bufferSize(_ configuration: VideoEncoderConfiguration, rate: Double) -> Int32 {
        Int32(clamping: Int(rate * configuration.bufferDuration.inSeconds))
    }

    func setBitRate(_ rate: BitRate) {
        configuration.bitRate = max(rate, .kilobits(10))
        applyRate()
    }

    func setFrameRate(_ framesPerSecond: Double) {
        configuration.framesPerSecond = min(max(framesPerSecond, 1), 120)
        applyRate()
    }

    /// x264 divides its rate by the frame rate of its opening. Fewer frames then means more bits for each: the rate is
    /// told to it as if the frames still came at the old pace. libavcodec hands changed fields to x264 with the next frame.
    private func applyRate() {
        let rate = Double(configuration.bitRate.bitsPerSecond) * nominalFramesPerSecond / configuration.framesPerSecond
        context.pointee.bit_rate = Int64(rate)
        context.pointee.rc_max_rate = Int64(rate)
        context.pointee.rc_buffer_size = Self.bufferSize(configuration, rate: rate)
    }

    func encode(_ picture: Picture, timestamp: Int64, forceKeyframe: Bool) throws(CodecError) -> EncodedVideoFrame? {
        guard picture.width == configuration.width, picture.height == configuration.height else {
            throw .unsupportedInput(
                "a picture of \(picture.width)×\(picture.height) for an encoder of \(configuration.width)×\(configuration.height)"
            )
        }
        try lend(picture)
        defer { av_frame_unref(input.pointer) }
        input.pointer.pointee.pts = timestamp
        input.pointer.pointee.pict_type = forceKeyframe ? AV_PICTURE_TYPE_I : AV_PICTURE_TYPE_NONE
        try FFmpeg.check(avcodec_send_frame(context, input.pointer), "H.264 encoder")
        let result = avcodec_receive_packet(context, output.pointer)
        if result == kAVERROR_EAGAIN { return nil }
        try FFmpeg.check(result, "H.264 encoder")
        defer { av_packet_unref(output.pointer) }
        return EncodedVideoFrame(
            codec: .h264, data: AnnexB.normalized(output.bytes),
            isKeyframe: output.pointer.pointee.flags & AV_PKT_FLAG_KEY != 0, timestamp: timestamp,
            width: configuration.width, height: configuration.height)
    }

    /// Points the frame at the picture's planes and keeps the picture alive for as long as libavcodec holds the frame.
    private func lend(_ picture: Picture) throws(CodecError) {
        let frame = input.pointer
        let owner = Unmanaged.passRetained(picture)
        // The buffer exists for its reference count only: one byte of the picture, freed by letting the picture go.
        let buffer = av_buffer_create(
            picture.y, 1, { opaque, _ in opaque.map { Unmanaged<Picture>.fromOpaque($0).release() } },
            owner.toOpaque(), Int32(AV_BUFFER_FLAG_READONLY))
        guard let buffer else {
            owner.release()
            throw .failed(operation: "H.264 encoder", reason: "out of memory")
        }
        frame.pointee.buf.0 = buffer
        frame.pointee.data.0 = picture.y
        frame.pointee.data.1 = picture.u
        frame.pointee.data.2 = picture.v
        frame.pointee.linesize.0 = Int32(picture.yStride)
        frame.pointee.linesize.1 = Int32(picture.uStride)
        frame.pointee.linesize.2 = Int32(picture.vStride)
        frame.pointee.width = Int32(picture.width)
        frame.pointee.height = Int32(picture.height)
        frame.pointee.format = AV_PIX_FMT_YUV420P.rawValue
    }
}
