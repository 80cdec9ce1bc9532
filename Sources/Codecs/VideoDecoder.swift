import Basics
import CFFmpeg

/// Decodes one video stream on the caller's thread; any size, and any change of size at a keyframe.
///
/// Not Sendable: one stream, one owner. No frame is held back.
public final class VideoDecoder {
    public let codec: VideoCodec
    /// A frame was lost or damaged since the last keyframe: what comes out may smear until the next one.
    public private(set) var needsKeyframe = true

    /// A stream that claims more pixels than this is refused before memory is spent on it.
    static let maxPixels: Int64 = 4096 * 4096

    private let context: UnsafeMutablePointer<AVCodecContext>
    private var converter = PixelConverter()

    public init(codec: VideoCodec) throws(CodecError) {
        FFmpeg.silenced
        self.codec = codec
        // By name: by id one may be given a hardware wrapper or libvpx.
        let name = codec == .h264 ? "h264" : "vp8"
        guard let decoder = avcodec_find_decoder_by_name(name) else { throw .unavailable("the \(name) decoder") }
        var context: UnsafeMutablePointer<AVCodecContext>? = try FFmpeg.allocated(
            avcodec_alloc_context3(decoder), "video decoder")
        context?.pointee.thread_count = 1
        context?.pointee.flags |= AV_CODEC_FLAG_LOW_DELAY
        context?.pointee.max_pixels = Self.maxPixels
        let result = avcodec_open2(context, decoder, nil)
        guard result >= 0, let opened = context else {
            avcodec_free_context(&context)
            throw .failed(operation: "video decoder", reason: FFmpeg.reason(result))
        }
        self.context = opened
    }

    deinit {
        var context: UnsafeMutablePointer<AVCodecContext>? = context
        avcodec_free_context(&context)
    }

    /// The frame's picture; nil when the frame shows none (e.g. it came before any keyframe).
    ///
    /// An error costs this frame only; the caller should ask for a keyframe (see `needsKeyframe`).
    public func decode(_ frame: EncodedVideoFrame) throws(CodecError) -> Picture? {
        guard frame.codec == codec else { throw .unsupportedInput("a \(frame.codec) frame in a \(codec) stream") }
        guard !frame.data.isEmpty else { return nil }
        do throws(CodecError) {
            try send(frame)
            let picture = try receive()
            if frame.isKeyframe, picture != nil { needsKeyframe = false }
            return picture
        } catch {
            needsKeyframe = true
            throw error
        }
    }

    private func send(_ frame: EncodedVideoFrame) throws(CodecError) {
        let packet = try Packet()
        try packet.fill(frame.data)
        packet.pointer.pointee.pts = frame.timestamp
        if frame.isKeyframe { packet.pointer.pointee.flags |= AV_PKT_FLAG_KEY }
        try FFmpeg.check(avcodec_send_packet(context, packet.pointer), "decode")
    }

    /// The newest picture that the decoder has ready.
    private func receive() throws(CodecError) -> Picture? {
        var newest: Picture?
        while true {
            let decoded = try Frame()
            let result = avcodec_receive_frame(context, decoded.pointer)
            if result == kAVERROR_EAGAIN || result == kAVERROR_EOF { return newest }
            try FFmpeg.check(result, "decode")
            let damage = decoded.pointer.pointee.flags & AV_FRAME_FLAG_CORRUPT
            if damage != 0 || decoded.pointer.pointee.decode_error_flags != 0 { throw .corruptFrame }
            newest = try converter.picture(from: decoded)
        }
    }

    /// Forgets all frames; the next one must be a keyframe.
    public func reset() {
        avcodec_flush_buffers(context)
        needsKeyframe = true
    }
}
