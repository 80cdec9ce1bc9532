import Basics
import CVPX

/// An encoder with libvpx's own API, because libavcodec cannot change the rate of a running VP8 encoder.
final class VP8Encoder: VideoEncoder {
    private(set) var configuration: VideoEncoderConfiguration

    /// Allocated on the heap, because libvpx keeps the configuration's address.
    private let context: UnsafeMutablePointer<vpx_codec_ctx_t>
    private let settings: UnsafeMutablePointer<vpx_codec_enc_cfg_t>
    private let image: UnsafeMutablePointer<vpx_image_t>
    private var settingsChanged = false
    private var clock = EncoderClock()
    /// The next frame's index in the pattern base, upper, base, upper …
    private var patternIndex = 0
    private var still = StillBlocks()
    /// Whether libvpx has a map of blocks that it leaves alone.
    private var hasMap = false

    init(_ wanted: VideoEncoderConfiguration) throws(CodecError) {
        var configuration = wanted
        configuration.temporalLayers = min(max(wanted.temporalLayers, 1), 2)
        configuration.maxNALSize = nil
        self.configuration = configuration
        context = .allocate(capacity: 1)
        settings = .allocate(capacity: 1)
        image = .allocate(capacity: 1)
        context.initialize(to: vpx_codec_ctx_t())
        settings.initialize(to: vpx_codec_enc_cfg_t())
        image.initialize(to: vpx_image_t())
        // All properties are set, so `deinit` runs also where this throws.
        try open()
    }

    deinit {
        // Without effect on a context whose initialisation failed, which has destroyed it already.
        vpx_codec_destroy(context)
        settings.deallocate()
        context.deallocate()
        image.deallocate()
    }

    private func open() throws(CodecError) {
        guard vpx_codec_enc_config_default(vpx_codec_vp8_cx(), settings, 0) == VPX_CODEC_OK else {
            throw .unavailable("the VP8 encoder")
        }
        settings.pointee.g_w = UInt32(configuration.width)
        settings.pointee.g_h = UInt32(configuration.height)
        settings.pointee.g_timebase = vpx_rational_t(num: 1, den: Int32(EncoderClock.rate))
        // More threads wait for each other in spin loops: ten times the processor time on a busy machine.
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
        let buffer = max(configuration.bufferDuration.inMilliseconds, 100)
        settings.pointee.rc_buf_sz = UInt32(buffer * 2)
        settings.pointee.rc_buf_initial_sz = UInt32(buffer)
        settings.pointee.rc_buf_optimal_sz = UInt32(buffer * 1.2)
        if let interval = configuration.keyframeIntervalFrames {
            settings.pointee.kf_mode = VPX_KF_AUTO
            settings.pointee.kf_min_dist = 0
            settings.pointee.kf_max_dist = UInt32(clamping: interval)
        } else {
            settings.pointee.kf_mode = VPX_KF_DISABLED
        }
        applyRate()
        guard cvpx_vp8_init(context, settings) == VPX_CODEC_OK else {
            throw .failed(operation: "VP8 encoder", reason: reason)
        }
        // Speeds below zero are fixed. Above zero libvpx chooses by the time that it measures, which no test could
        // reproduce.
        try control(VP8E_SET_CPUUSED, configuration.speed == .fast ? -12 : -8)
        try control(VP8E_SET_STATIC_THRESHOLD, 1)
        try control(VP8E_SET_NOISE_SENSITIVITY, 0)
        try control(VP8E_SET_TOKEN_PARTITIONS, Int32(VP8_ONE_TOKENPARTITION.rawValue))
        try control(VP8E_SET_SCREEN_CONTENT_MODE, 0)
        try control(VP8E_SET_MAX_INTRA_BITRATE_PCT, Int32(configuration.maxIntraPercent))
    }

    private func control(_ what: vp8e_enc_control_id, _ value: Int32) throws(CodecError) {
        guard cvpx_control_int(context, Int32(what.rawValue), value) == VPX_CODEC_OK else {
            throw .failed(operation: "VP8 encoder", reason: reason)
        }
    }

    private var reason: String {
        vpx_codec_error_detail(context).map { String(cString: $0) } ?? String(cString: vpx_codec_error(context))
    }

    func setBitRate(_ rate: BitRate) {
        configuration.bitRate = max(rate, .kilobits(10))
        applyRate()
        settingsChanged = true
    }

    /// libvpx derives the frame rate from the timestamps; only the keyframe's limit and each frame's duration are set
    /// here.
    func setFrameRate(_ framesPerSecond: Double) {
        configuration.framesPerSecond = min(max(framesPerSecond, 1), 120)
        cvpx_control_int(
            context, Int32(VP8E_SET_MAX_INTRA_BITRATE_PCT.rawValue), Int32(configuration.maxIntraPercent))
    }

    private func applyRate() {
        let kilobits = UInt32(clamping: configuration.bitRate.bitsPerSecond / 1000)
        settings.pointee.rc_target_bitrate = kilobits
        if configuration.temporalLayers == 2 {
            // 60 % for the base layer, as in libwebrtc.
            cvpx_set_two_layers(settings, kilobits * 6 / 10, kilobits)
        }
    }

    func encode(_ picture: Picture, timestamp: Int64, forceKeyframe: Bool) throws(CodecError) -> EncodedVideoFrame? {
        try configuration.check(picture)
        let (time, duration) = try clock.next(timestamp, framesPerSecond: configuration.framesPerSecond)
        if settingsChanged {
            settingsChanged = false
            guard vpx_codec_enc_config_set(context, settings) == VPX_CODEC_OK else {
                throw .failed(operation: "VP8 rate", reason: reason)
            }
        }
        if forceKeyframe { patternIndex = 0 }
        let layer = configuration.temporalLayers == 2 ? patternIndex & 1 : 0
        var flags = forceKeyframe ? kVP8_FORCE_KEY : 0
        if configuration.temporalLayers == 2 {
            if !forceKeyframe { flags |= layer == 0 ? kVP8_BASE_LAYER : kVP8_UPPER_LAYER }
            try control(VP8E_SET_TEMPORAL_LAYER_ID, Int32(layer))
        }
        still.prepare(picture.changes, timestamp: timestamp, rate: configuration.bitRate)
        try applyMap()
        wrap(picture)
        guard cvpx_encode_realtime(context, image, time, duration, flags) == VPX_CODEC_OK else {
            throw .failed(operation: "VP8 encoder", reason: reason)
        }
        let frame = take(timestamp: timestamp, layer: layer)
        if let frame {
            still.noteCoded(isKeyframe: frame.isKeyframe, timestamp: timestamp, rate: configuration.bitRate)
        }
        return frame
    }

    /// Tells libvpx which macroblocks to copy from the last base frame. It copies the map, and ignores it in keyframes.
    private func applyMap() throws(CodecError) {
        guard still.hasStill || hasMap else { return }
        let rows = UInt32(ChangeMap.blocks(configuration.height))
        let columns = UInt32(ChangeMap.blocks(configuration.width))
        var map = still.active
        let isSet = map.withUnsafeMutableBufferPointer { map in
            cvpx_set_active_map(context, still.hasStill ? map.baseAddress : nil, rows, columns) == VPX_CODEC_OK
        }
        guard isSet else { throw .failed(operation: "VP8 active map", reason: reason) }
        hasMap = still.hasStill
    }

    /// Points libvpx's image at the picture's planes, which libvpx copies before `encode` returns.
    private func wrap(_ picture: Picture) {
        vpx_img_wrap(image, VPX_IMG_FMT_I420, UInt32(picture.width), UInt32(picture.height), 1, picture.y)
        image.pointee.planes.0 = picture.y
        image.pointee.planes.1 = picture.u
        image.pointee.planes.2 = picture.v
        image.pointee.stride.0 = Int32(picture.yStride)
        image.pointee.stride.1 = Int32(picture.uStride)
        image.pointee.stride.2 = Int32(picture.vStride)
    }

    private func take(timestamp: Int64, layer: Int) -> EncodedVideoFrame? {
        var data: [UInt8] = []
        var isKeyframe = false
        var iterator: vpx_codec_iter_t?
        while let packet = vpx_codec_get_cx_data(context, &iterator) {
            var count = 0
            var key: Int32 = 0
            guard let bytes = cvpx_frame(packet, &count, &key) else { continue }
            data.append(contentsOf: UnsafeBufferPointer(start: bytes, count: count))
            isKeyframe = isKeyframe || key != 0
        }
        guard !data.isEmpty else { return nil }
        // A dropped frame does not advance the pattern. A keyframe, even one that the encoder chose, is of the base
        // layer.
        patternIndex = isKeyframe ? 1 : patternIndex + 1
        return EncodedVideoFrame(
            codec: .vp8, data: data, isKeyframe: isKeyframe, temporalLayer: isKeyframe ? 0 : UInt8(layer),
            timestamp: timestamp, width: configuration.width, height: configuration.height)
    }
}
