import Basics
import CFFmpeg
import CVPX
import CYUV
import Codecs

/// A libavcodec decoder without the wrapper of `Codecs`.
final class BareDecoder {
    private let context: UnsafeMutablePointer<AVCodecContext>
    private let packet: UnsafeMutablePointer<AVPacket>
    /// The last decoded frame.
    let frame: UnsafeMutablePointer<AVFrame>

    init(_ codec: VideoCodec) throws(BenchError) {
        let names: [VideoCodec: String] = [.h264: "h264", .vp8: "vp8", .av1: "libdav1d"]
        let decoder = avcodec_find_decoder_by_name(names[codec])
        guard let context = avcodec_alloc_context3(decoder), let packet = av_packet_alloc(),
            let frame = av_frame_alloc()
        else {
            throw BenchError("no decoder for \(codec)")
        }
        context.pointee.thread_count = 1
        context.pointee.flags |= AV_CODEC_FLAG_LOW_DELAY
        guard avcodec_open2(context, decoder, nil) >= 0 else { throw BenchError("the \(codec) decoder does not open") }
        self.context = context
        self.packet = packet
        self.frame = frame
    }

    /// A copy of the last decoded frame.
    var picture: Picture {
        let (picture, data) = (
            Picture(width: Int(frame.pointee.width), height: Int(frame.pointee.height)), frame.pointee
        )
        for (source, from, plane, stride, width, height) in [
            (data.data.0, data.linesize.0, picture.y, picture.yStride, picture.width, picture.height),
            (data.data.1, data.linesize.1, picture.u, picture.uStride, picture.chromaWidth, picture.chromaHeight),
            (data.data.2, data.linesize.2, picture.v, picture.vStride, picture.chromaWidth, picture.chromaHeight),
        ] {
            guard let source else { continue }
            for row in 0..<height { (plane + row * stride).update(from: source + row * Int(from), count: width) }
        }
        return picture
    }

    deinit {
        var (context, packet, frame):
            (UnsafeMutablePointer<AVCodecContext>?, UnsafeMutablePointer<AVPacket>?, UnsafeMutablePointer<AVFrame>?) =
                (context, packet, frame)
        avcodec_free_context(&context)
        av_packet_free(&packet)
        av_frame_free(&frame)
    }

    func decode(_ data: [UInt8]) throws(BenchError) {
        // libavcodec reads past the end, so the bytes are copied to a buffer with padding.
        guard av_new_packet(packet, Int32(data.count)) >= 0 else { throw BenchError("out of memory") }
        data.withUnsafeBufferPointer {
            if let base = $0.baseAddress { packet.pointee.data.update(from: base, count: $0.count) }
        }
        let sent = avcodec_send_packet(context, packet)
        av_packet_unref(packet)
        guard sent >= 0, avcodec_receive_frame(context, frame) >= 0 else { throw BenchError("a frame does not decode") }
    }
}

/// The canvas, one frame that both encoders read.
final class BareCanvas {
    let frame: UnsafeMutablePointer<AVFrame>

    init(width: Int, height: Int) throws(BenchError) {
        guard let frame = av_frame_alloc() else { throw BenchError("out of memory") }
        frame.pointee.width = Int32(width)
        frame.pointee.height = Int32(height)
        frame.pointee.format = AV_PIX_FMT_YUV420P.rawValue
        guard av_frame_get_buffer(frame, 0) >= 0, let y = frame.pointee.data.0, let u = frame.pointee.data.1,
            let v = frame.pointee.data.2
        else { throw BenchError("out of memory") }
        self.frame = frame
        y.update(repeating: 16, count: Int(frame.pointee.linesize.0) * height)
        u.update(repeating: 128, count: Int(frame.pointee.linesize.1) * height / 2)
        v.update(repeating: 128, count: Int(frame.pointee.linesize.2) * height / 2)
    }

    deinit {
        var frame: UnsafeMutablePointer<AVFrame>? = frame
        av_frame_free(&frame)
    }

    /// Scales part of `source` into a rectangle.
    func place(_ source: UnsafeMutablePointer<AVFrame>, _ place: Place) {
        let from = Self.planes(source, place.crop), to = Self.planes(frame, place.target)
        let (a, b) = (source.pointee.linesize, frame.pointee.linesize)
        I420Scale(
            from.0, a.0, from.1, a.1, from.2, a.2, Int32(place.crop.width), Int32(place.crop.height), to.0, b.0, to.1,
            b.1, to.2,
            b.2,
            Int32(place.target.width), Int32(place.target.height), kFilterBox)
    }

    private typealias Plane = UnsafeMutablePointer<UInt8>

    /// The addresses in the planes of the rectangle's even origin.
    private static func planes(_ frame: UnsafeMutablePointer<AVFrame>, _ area: PixelRectangle) -> (
        Plane?, Plane?, Plane?
    ) {
        let (data, size) = (frame.pointee.data, frame.pointee.linesize)
        let x = area.x & ~1, y = area.y & ~1
        return (
            data.0.map { $0 + y * Int(size.0) + x }, data.1.map { $0 + y / 2 * Int(size.1) + x / 2 },
            data.2.map { $0 + y / 2 * Int(size.2) + x / 2 }
        )
    }
}

/// x264 through libavcodec, with the settings of `Codecs`; `SettingsCheck` verifies that they stay equal.
final class BareH264Encoder {
    private let context: UnsafeMutablePointer<AVCodecContext>
    private let packet: UnsafeMutablePointer<AVPacket>

    init(width: Int, height: Int, framesPerSecond: Int, bitRate: BitRate) throws(BenchError) {
        let codec = avcodec_find_encoder_by_name("libx264")
        guard let context = avcodec_alloc_context3(codec), let packet = av_packet_alloc() else {
            throw BenchError("no libx264")
        }
        context.pointee.width = Int32(width)
        context.pointee.height = Int32(height)
        context.pointee.pix_fmt = AV_PIX_FMT_YUV420P
        context.pointee.time_base = AVRational(num: 1, den: 90_000)
        context.pointee.framerate = AVRational(num: Int32(framesPerSecond), den: 1)
        context.pointee.thread_count = 1
        context.pointee.max_b_frames = 0
        context.pointee.gop_size = 1 << 30
        context.pointee.bit_rate = Int64(bitRate.bitsPerSecond)
        context.pointee.rc_max_rate = Int64(bitRate.bitsPerSecond)
        context.pointee.rc_buffer_size = Int32(bitRate.bitsPerSecond / 2)
        context.pointee.color_range = AVCOL_RANGE_MPEG
        context.pointee.colorspace = AVCOL_SPC_SMPTE170M
        context.pointee.color_primaries = AVCOL_PRI_SMPTE170M
        context.pointee.color_trc = AVCOL_TRC_SMPTE170M
        var options: OpaquePointer?
        av_dict_set(&options, "preset", "superfast", 0)
        av_dict_set(&options, "tune", "zerolatency", 0)
        av_dict_set(&options, "profile", "baseline", 0)
        av_dict_set(&options, "forced-idr", "1", 0)
        av_dict_set(
            &options, "x264-params", "repeat-headers=1:scenecut=0:weightp=0:trellis=0:aq-mode=0:force-cfr=1", 0)
        defer { av_dict_free(&options) }
        guard avcodec_open2(context, codec, &options) >= 0 else { throw BenchError("libx264 does not open") }
        self.context = context
        self.packet = packet
    }

    deinit {
        var (context, packet): (UnsafeMutablePointer<AVCodecContext>?, UnsafeMutablePointer<AVPacket>?) = (
            context, packet
        )
        avcodec_free_context(&context)
        av_packet_free(&packet)
    }

    /// Encodes the canvas; the bytes are appended to `output`.
    func encode(_ canvas: BareCanvas, timestamp: Int64, output: (UnsafeBufferPointer<UInt8>) -> Void = { _ in })
        throws(BenchError)
    {
        canvas.frame.pointee.pts = timestamp
        canvas.frame.pointee.pict_type = timestamp == 0 ? AV_PICTURE_TYPE_I : AV_PICTURE_TYPE_NONE
        guard avcodec_send_frame(context, canvas.frame) >= 0, avcodec_receive_packet(context, packet) >= 0 else {
            throw BenchError("x264 gives no frame")
        }
        output(UnsafeBufferPointer(start: packet.pointee.data, count: Int(packet.pointee.size)))
        av_packet_unref(packet)
    }
}

/// libvpx with the settings of `Codecs` and the two temporal layers of a room's rendition.
final class BareVP8Encoder {
    private let context = UnsafeMutablePointer<vpx_codec_ctx_t>.allocate(capacity: 1)
    private let settings = UnsafeMutablePointer<vpx_codec_enc_cfg_t>.allocate(capacity: 1)
    private let image = UnsafeMutablePointer<vpx_image_t>.allocate(capacity: 1)
    private let duration: UInt
    private var count = 0

    init(width: Int, height: Int, framesPerSecond: Int, bitRate: BitRate) throws(BenchError) {
        context.initialize(to: vpx_codec_ctx_t())
        settings.initialize(to: vpx_codec_enc_cfg_t())
        image.initialize(to: vpx_image_t())
        duration = UInt(90_000 / framesPerSecond)
        guard vpx_codec_enc_config_default(vpx_codec_vp8_cx(), settings, 0) == VPX_CODEC_OK else {
            throw BenchError("no libvpx")
        }
        let rate = UInt32(bitRate.bitsPerSecond / 1000)
        settings.pointee.g_w = UInt32(width)
        settings.pointee.g_h = UInt32(height)
        settings.pointee.g_timebase = vpx_rational_t(num: 1, den: 90_000)
        settings.pointee.g_threads = 1
        settings.pointee.g_error_resilient = UInt32(VPX_ERROR_RESILIENT_DEFAULT)
        settings.pointee.g_lag_in_frames = 0
        settings.pointee.g_pass = VPX_RC_ONE_PASS
        settings.pointee.rc_end_usage = VPX_CBR
        settings.pointee.rc_min_quantizer = 2
        settings.pointee.rc_max_quantizer = 63
        settings.pointee.rc_undershoot_pct = 100
        settings.pointee.rc_overshoot_pct = 15
        settings.pointee.rc_dropframe_thresh = 30
        settings.pointee.rc_resize_allowed = 0
        settings.pointee.rc_buf_sz = 1000
        settings.pointee.rc_buf_initial_sz = 500
        settings.pointee.rc_buf_optimal_sz = 600
        settings.pointee.kf_mode = VPX_KF_DISABLED
        settings.pointee.rc_target_bitrate = rate
        cvpx_set_two_layers(settings, rate * 6 / 10, rate)
        guard cvpx_vp8_init(context, settings) == VPX_CODEC_OK else { throw BenchError("libvpx does not open") }
        let intra = Int32(max(0.6 * Double(framesPerSecond) * 0.5 * 100, 300))
        for (what, value) in [
            (VP8E_SET_CPUUSED, -8), (VP8E_SET_STATIC_THRESHOLD, 1), (VP8E_SET_NOISE_SENSITIVITY, 0),
            (VP8E_SET_TOKEN_PARTITIONS, Int32(VP8_ONE_TOKENPARTITION.rawValue)), (VP8E_SET_SCREEN_CONTENT_MODE, 0),
            (VP8E_SET_MAX_INTRA_BITRATE_PCT, intra),
        ] {
            guard cvpx_control_int(context, Int32(what.rawValue), value) == VPX_CODEC_OK else {
                throw BenchError("libvpx refuses a setting")
            }
        }
    }

    deinit {
        vpx_codec_destroy(context)
        context.deallocate()
        settings.deallocate()
        image.deallocate()
    }

    func encode(_ canvas: BareCanvas, timestamp: Int64, output: (UnsafeBufferPointer<UInt8>) -> Void = { _ in })
        throws(BenchError)
    {
        let frame = canvas.frame.pointee
        vpx_img_wrap(image, VPX_IMG_FMT_I420, UInt32(frame.width), UInt32(frame.height), 1, frame.data.0)
        (image.pointee.planes.0, image.pointee.planes.1, image.pointee.planes.2) = (
            frame.data.0, frame.data.1, frame.data.2
        )
        (image.pointee.stride.0, image.pointee.stride.1, image.pointee.stride.2) = (
            frame.linesize.0, frame.linesize.1, frame.linesize.2
        )
        let layer = count & 1
        cvpx_control_int(context, Int32(VP8E_SET_TEMPORAL_LAYER_ID.rawValue), Int32(layer))
        let flags = count == 0 ? kVP8_FORCE_KEY : layer == 0 ? kVP8_BASE_LAYER : kVP8_UPPER_LAYER
        guard cvpx_encode_realtime(context, image, timestamp, duration, flags) == VPX_CODEC_OK else {
            throw BenchError("libvpx gives no frame")
        }
        var iterator: vpx_codec_iter_t?
        while let packet = vpx_codec_get_cx_data(context, &iterator) {
            var size = 0
            var key: Int32 = 0
            guard let bytes = cvpx_frame(packet, &size, &key) else { continue }
            count += 1
            output(UnsafeBufferPointer(start: bytes, count: size))
        }
    }
}

/// Why a measurement failed.
struct BenchError: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
}
