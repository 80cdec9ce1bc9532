import Basics
import CX264

/// An encoder with x264's own API: constrained baseline, constant bit rate, SPS and PPS before every IDR, no delayed
/// frames.
///
/// libavcodec's wrapper of x264 follows changes of the rate too, but cannot mark a frame as unused for reference, which
/// two temporal layers need (see `SequenceParameterSet`).
final class H264Encoder: VideoEncoder {
    private(set) var configuration: VideoEncoderConfiguration

    private let encoder: OpaquePointer
    private var parameters: x264_param_t
    private var picture = x264_picture_t()
    /// The frame rate at opening, by which x264's rate control divides the bit rate; see `setRate`.
    private let nominalFramesPerSecond: Double
    /// Frames since the last IDR: with two layers every second one may be dropped.
    private var sinceIDR = 0
    private var still = StillBlocks()
    /// x264's mark of each macroblock.
    private var marks: [UInt8] = []

    init(_ wanted: VideoEncoderConfiguration) throws(CodecError) {
        var configuration = wanted
        configuration.temporalLayers = min(max(wanted.temporalLayers, 1), 2)
        self.configuration = configuration
        nominalFramesPerSecond = configuration.framesPerSecond
        var parameters = x264_param_t()
        guard
            x264_param_default_preset(
                &parameters, configuration.speed == .fast ? "ultrafast" : "superfast", "zerolatency") == 0
        else { throw .failed(operation: "H.264 encoder", reason: "x264 does not know its own presets") }
        Self.fill(&parameters, configuration)
        guard x264_param_apply_profile(&parameters, "baseline") == 0, let encoder = cx264_open(&parameters) else {
            throw .failed(operation: "H.264 encoder", reason: "x264 refuses \(configuration)")
        }
        self.encoder = encoder
        self.parameters = parameters
        x264_picture_init(&picture)
    }

    deinit { x264_encoder_close(encoder) }

    private static func fill(_ parameters: inout x264_param_t, _ configuration: VideoEncoderConfiguration) {
        parameters.i_log_level = X264_LOG_NONE
        parameters.i_threads = 1
        parameters.i_width = Int32(configuration.width)
        parameters.i_height = Int32(configuration.height)
        parameters.i_csp = X264_CSP_I420
        parameters.i_timebase_num = 1
        parameters.i_timebase_den = 90_000
        parameters.i_fps_num = UInt32(configuration.framesPerSecond * 1000)
        parameters.i_fps_den = 1000
        parameters.b_vfr_input = 0
        parameters.b_repeat_headers = 1
        parameters.i_sps_id = Int32(configuration.parameterSetID & 31)
        parameters.b_annexb = 1
        parameters.b_aud = 0
        parameters.i_bframe = 0
        parameters.i_scenecut_threshold = 0
        parameters.analyse.i_weighted_pred = 0
        parameters.analyse.i_trellis = 0
        parameters.analyse.b_mb_info = 1
        parameters.rc.i_aq_mode = X264_AQ_NONE
        parameters.i_keyint_max =
            configuration.keyframeIntervalFrames.map { Int32(clamping: $0) } ?? X264_KEYINT_MAX_INFINITE
        // A frame that may be dropped still takes a reference slot in the decoder, so the one before it needs a second
        // slot.
        parameters.i_frame_reference = configuration.temporalLayers == 2 ? 2 : 1
        if configuration.speed == .fast {
            // The fastest preset leaves out deblocking, which looks bad and saves almost no time.
            parameters.b_deblocking_filter = 1
        }
        if let size = configuration.maxNALSize { parameters.i_slice_max_size = Int32(clamping: max(size, 200)) }
        parameters.rc.i_rc_method = X264_RC_ABR
        setRate(&parameters, configuration, nominal: configuration.framesPerSecond)
        // BT.601, limited range: players assume BT.709 for larger pictures without this field (H.264 tables E-3 to
        // E-5).
        parameters.vui.b_fullrange = 0
        parameters.vui.i_colorprim = 6
        parameters.vui.i_transfer = 6
        parameters.vui.i_colmatrix = 6
    }

    /// x264 divides the bit rate by the frame rate of its opening. With fewer frames each may have more bits, so the
    /// bit rate is scaled as if the frames still came at the rate of the opening.
    private static func setRate(
        _ parameters: inout x264_param_t, _ configuration: VideoEncoderConfiguration, nominal: Double
    ) {
        let kilobits = Double(configuration.bitRate.bitsPerSecond) / 1000 * nominal / configuration.framesPerSecond
        parameters.rc.i_bitrate = Int32(clamping: Int(max(kilobits, 1)))
        parameters.rc.i_vbv_max_bitrate = parameters.rc.i_bitrate
        parameters.rc.i_vbv_buffer_size = Int32(
            clamping: Int(max(kilobits * configuration.bufferDuration.inSeconds, 1)))
    }

    func setBitRate(_ rate: BitRate) {
        configuration.bitRate = max(rate, .kilobits(10))
        applyRate()
    }

    func setFrameRate(_ framesPerSecond: Double) {
        configuration.framesPerSecond = min(max(framesPerSecond, 1), 120)
        applyRate()
    }

    private func applyRate() {
        Self.setRate(&parameters, configuration, nominal: nominalFramesPerSecond)
        // Only parameters that x264 can change while it runs are changed here, so this cannot fail.
        _ = x264_encoder_reconfig(encoder, &parameters)
    }

    func encode(_ source: Picture, timestamp: Int64, forceKeyframe: Bool) throws(CodecError) -> EncodedVideoFrame? {
        guard source.width == configuration.width, source.height == configuration.height else {
            throw .unsupportedInput(
                "a picture of \(source.width)×\(source.height) for an encoder of \(configuration.width)×\(configuration.height)"
            )
        }
        picture.i_type = forceKeyframe ? X264_TYPE_IDR : X264_TYPE_AUTO
        picture.i_pts = timestamp
        picture.img.i_csp = X264_CSP_I420
        picture.img.i_plane = 3
        picture.img.plane = (source.y, source.u, source.v, nil)
        picture.img.i_stride = (Int32(source.yStride), Int32(source.uStride), Int32(source.vStride), 0)
        var units: UnsafeMutablePointer<x264_nal_t>?
        var count: Int32 = 0
        var output = x264_picture_t()
        still.prepare(source.changes, timestamp: timestamp, rate: configuration.bitRate)
        markStill()
        // x264 copies the planes before it returns, so the picture may be released afterwards; with one thread and
        // without lookahead it has read the marks by then too.
        let size = withExtendedLifetime(source) {
            marks.withUnsafeMutableBufferPointer { marks in
                picture.prop.mb_info = still.hasStill ? marks.baseAddress : nil
                return x264_encoder_encode(encoder, &units, &count, &picture, &output)
            }
        }
        guard size >= 0 else { throw .failed(operation: "H.264 encoder", reason: "x264 reports \(size)") }
        guard size > 0, let units else { return nil }
        let isKeyframe = output.b_keyframe != 0
        still.noteCoded(isKeyframe: isKeyframe, timestamp: timestamp, rate: configuration.bitRate)
        sinceIDR = isKeyframe ? 0 : sinceIDR + 1
        let isDroppable = configuration.temporalLayers == 2 && !sinceIDR.isMultiple(of: 2)
        if isDroppable { _ = x264_encoder_invalidate_reference(encoder, timestamp) }
        // x264 places the NAL units one behind the other in memory.
        let bytes = Array(UnsafeBufferPointer(start: units[0].p_payload, count: Int(size)))
        var data = AnnexB.normalized(bytes)
        if isKeyframe, configuration.temporalLayers == 2 { SequenceParameterSet.allowGaps(in: &data) }
        return EncodedVideoFrame(
            codec: .h264, data: data, isKeyframe: isKeyframe, temporalLayer: isDroppable ? 1 : 0, timestamp: timestamp,
            width: configuration.width, height: configuration.height)
    }

    /// Marks the macroblocks that are the same as in the picture before. x264 takes a mark only where the frame that it
    /// refers to is the one directly before and was not coded more coarsely: with two temporal layers in every second
    /// frame.
    private func markStill() {
        guard still.hasStill else { return }
        if marks.count != still.active.count { marks = [UInt8](repeating: 0, count: still.active.count) }
        for index in marks.indices { marks[index] = still.active[index] == 0 ? UInt8(X264_MBINFO_CONSTANT) : 0 }
    }
}
