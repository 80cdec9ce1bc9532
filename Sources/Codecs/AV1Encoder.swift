import Basics
import CAOM

/// An encoder of AV1 for thin lines, with libaom's own API, which changes the rate of a running encoder.
///
/// The stream has one layer. Every frame is a temporal unit in the low-overhead format with sizes (AV1 §5.2). What stands
/// still costs nothing, because its samples are the same: an active map, which VP8's encoder gets, has no effect in
/// libaom 3.6 in real time (frames have the same bytes with and without one). A screen is painted bit by bit
/// (`ScreenPainter`).
final class AV1Encoder: VideoEncoder {
    private(set) var configuration: VideoEncoderConfiguration

    /// Allocated on the heap, because libaom keeps the configuration's address.
    private let context: UnsafeMutablePointer<aom_codec_ctx_t>
    private let settings: UnsafeMutablePointer<aom_codec_enc_cfg_t>
    private let image: UnsafeMutablePointer<aom_image_t>
    private var settingsChanged = false
    private var clock = EncoderClock()
    /// For screens: it controls the rate there.
    private var painter: ScreenPainter?
    private var isBegun = false

    /// The quantizer of a screen, from 0 to 63: text is read at it.
    private static let screenQuantizer: UInt32 = 44
    /// The fastest speed, and the next one, at which small pictures are worth the time.
    private static let (fastest, small) = (10, 9)
    /// Up to so many pixels a picture is small: 320×180.
    private static let smallPixels = 320 * 180

    init(_ wanted: VideoEncoderConfiguration) throws(CodecError) {
        var configuration = wanted
        configuration.temporalLayers = 1
        configuration.maxNALSize = nil
        self.configuration = configuration
        context = .allocate(capacity: 1)
        settings = .allocate(capacity: 1)
        image = .allocate(capacity: 1)
        context.initialize(to: aom_codec_ctx_t())
        settings.initialize(to: aom_codec_enc_cfg_t())
        image.initialize(to: aom_image_t())
        // All properties are set, so `deinit` runs also where this throws.
        try open()
    }

    deinit {
        // Without effect on a context whose initialisation failed, which has destroyed it already.
        aom_codec_destroy(context)
        settings.deallocate()
        context.deallocate()
        image.deallocate()
    }

    private func open() throws(CodecError) {
        guard aom_codec_enc_config_default(aom_codec_av1_cx(), settings, kAOM_REALTIME) == AOM_CODEC_OK else {
            throw .unavailable("the AV1 encoder")
        }
        settings.pointee.g_w = UInt32(configuration.width)
        settings.pointee.g_h = UInt32(configuration.height)
        settings.pointee.g_timebase = aom_rational_t(num: 1, den: Int32(EncoderClock.rate))
        settings.pointee.g_threads = 1
        settings.pointee.g_lag_in_frames = 0
        settings.pointee.g_error_resilient = 0
        settings.pointee.g_pass = AOM_RC_ONE_PASS
        settings.pointee.rc_end_usage = AOM_CBR
        let isScreen = configuration.content == .screen
        settings.pointee.rc_min_quantizer = isScreen ? Self.screenQuantizer : 10
        settings.pointee.rc_max_quantizer = isScreen ? Self.screenQuantizer : 63
        settings.pointee.rc_undershoot_pct = 50
        settings.pointee.rc_overshoot_pct = 15
        settings.pointee.rc_dropframe_thresh = isScreen ? 0 : 30
        settings.pointee.rc_resize_mode = 0
        let buffer = max(configuration.bufferDuration.inMilliseconds, 100)
        settings.pointee.rc_buf_sz = UInt32(buffer * 2)
        settings.pointee.rc_buf_initial_sz = UInt32(buffer)
        settings.pointee.rc_buf_optimal_sz = UInt32(buffer * 1.2)
        if let interval = configuration.keyframeIntervalFrames {
            settings.pointee.kf_mode = AOM_KF_AUTO
            settings.pointee.kf_min_dist = 0
            settings.pointee.kf_max_dist = UInt32(clamping: interval)
        } else {
            settings.pointee.kf_mode = AOM_KF_DISABLED
        }
        applyRate()
        guard caom_init(context, settings) == AOM_CODEC_OK else {
            throw .failed(operation: "AV1 encoder", reason: reason)
        }
        let isSmall = configuration.width * configuration.height <= Self.smallPixels
        try control(AOME_SET_CPUUSED, isSmall && configuration.speed == .normal ? Self.small : Self.fastest)
        try control(AOME_SET_MAX_INTRA_BITRATE_PCT, configuration.maxIntraPercent)
        try control(AV1E_SET_MAX_INTER_BITRATE_PCT, configuration.maxIntraPercent)
        if isScreen {
            painter = ScreenPainter(width: configuration.width, height: configuration.height)
            try control(AV1E_SET_TUNE_CONTENT, Int(AOM_CONTENT_SCREEN.rawValue))
            try control(AV1E_SET_ENABLE_PALETTE, 1)
        }
        // Rate is taken from blocks that stand still, and given to those that move.
        try control(AV1E_SET_AQ_MODE, isScreen ? 0 : 3)
        // What costs time in real time, and gains little there.
        for off in [
            AV1E_SET_ENABLE_TPL_MODEL, AV1E_SET_DELTAQ_MODE, AV1E_SET_ENABLE_ORDER_HINT, AV1E_SET_ENABLE_OBMC,
            AV1E_SET_NOISE_SENSITIVITY, AV1E_SET_ENABLE_WARPED_MOTION, AV1E_SET_ENABLE_GLOBAL_MOTION,
            AV1E_SET_ENABLE_REF_FRAME_MVS, AV1E_SET_ENABLE_CFL_INTRA, AV1E_SET_ENABLE_SMOOTH_INTRA,
            AV1E_SET_ENABLE_ANGLE_DELTA, AV1E_SET_ENABLE_FILTER_INTRA,
        ] { try control(off, 0) }
        try control(AV1E_SET_INTRA_DEFAULT_TX_ONLY, 1)
        try control(AV1E_SET_DISABLE_TRELLIS_QUANT, 1)
        for frequency in [AV1E_SET_COEFF_COST_UPD_FREQ, AV1E_SET_MODE_COST_UPD_FREQ, AV1E_SET_MV_COST_UPD_FREQ] {
            try control(frequency, 3)
        }
    }

    private func control(_ what: aome_enc_control_id, _ value: Int) throws(CodecError) {
        guard caom_control(context, Int32(what.rawValue), Int32(value)) == AOM_CODEC_OK else {
            throw .failed(operation: "AV1 encoder", reason: reason)
        }
    }

    private var reason: String {
        aom_codec_error_detail(context).map { String(cString: $0) } ?? String(cString: aom_codec_error(context))
    }

    func setBitRate(_ rate: BitRate) {
        configuration.bitRate = max(rate, .kilobits(10))
        applyRate()
        settingsChanged = true
    }

    /// libaom derives the frame rate from the timestamps; only the keyframe's limit and each frame's duration are set
    /// here.
    func setFrameRate(_ framesPerSecond: Double) {
        configuration.framesPerSecond = min(max(framesPerSecond, 1), 120)
        caom_control(context, Int32(AOME_SET_MAX_INTRA_BITRATE_PCT.rawValue), Int32(configuration.maxIntraPercent))
    }

    private func applyRate() {
        settings.pointee.rc_target_bitrate = UInt32(clamping: configuration.bitRate.bitsPerSecond / 1000)
    }

    func encode(_ picture: Picture, timestamp: Int64, forceKeyframe: Bool) throws(CodecError) -> EncodedVideoFrame? {
        try configuration.check(picture)
        let (time, duration) = try clock.next(timestamp, framesPerSecond: configuration.framesPerSecond)
        if settingsChanged {
            settingsChanged = false
            guard aom_codec_enc_config_set(context, settings) == AOM_CODEC_OK else {
                throw .failed(operation: "AV1 rate", reason: reason)
            }
        }
        let isKeyframe = forceKeyframe || !isBegun
        isBegun = true
        painter?.paint(
            picture, isKeyframe: isKeyframe,
            bits: Double(configuration.bitRate.bitsPerSecond) / configuration.framesPerSecond)
        wrap(painter?.canvas ?? picture)
        let flags = aom_enc_frame_flags_t(isKeyframe ? kAOM_FORCE_KEY : 0)
        guard aom_codec_encode(context, image, time, duration, flags) == AOM_CODEC_OK else {
            throw .failed(operation: "AV1 encoder", reason: reason)
        }
        let frame = take(timestamp: timestamp)
        painter?.noteCoded(bytes: frame?.data.count ?? 0)
        return frame
    }

    var hasMore: Bool { painter?.hasMore ?? false }

    /// Points libaom's image at the picture's planes, which libaom copies before `encode` returns.
    private func wrap(_ picture: Picture) {
        aom_img_wrap(image, AOM_IMG_FMT_I420, UInt32(picture.width), UInt32(picture.height), 1, picture.y)
        image.pointee.planes.0 = picture.y
        image.pointee.planes.1 = picture.u
        image.pointee.planes.2 = picture.v
        image.pointee.stride.0 = Int32(picture.yStride)
        image.pointee.stride.1 = Int32(picture.uStride)
        image.pointee.stride.2 = Int32(picture.vStride)
        image.pointee.range = AOM_CR_STUDIO_RANGE
    }

    private func take(timestamp: Int64) -> EncodedVideoFrame? {
        var data: [UInt8] = []
        var isKeyframe = false
        var iterator: aom_codec_iter_t?
        while let packet = aom_codec_get_cx_data(context, &iterator) {
            var count = 0
            var key: Int32 = 0
            guard let bytes = caom_frame(packet, &count, &key) else { continue }
            data.append(contentsOf: UnsafeBufferPointer(start: bytes, count: count))
            isKeyframe = isKeyframe || key != 0
        }
        guard !data.isEmpty else { return nil }
        return EncodedVideoFrame(
            codec: .av1, data: data, isKeyframe: isKeyframe, timestamp: timestamp, width: configuration.width,
            height: configuration.height)
    }
}
