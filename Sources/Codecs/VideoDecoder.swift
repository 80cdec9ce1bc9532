package import Basics
import CFFmpeg

/// Decodes one video stream on the caller's thread: 8 bit 4:2:0, any size up to `VideoFormat.maxPixels`, and any change
/// of size at a keyframe.
///
/// Not Sendable: one stream, one owner. No frame is delayed. The decoder parses the headers before the library gets a
/// frame, so that no memory is allocated for a format that is not decoded.
package final class VideoDecoder {
    package let codec: VideoCodec
    /// Whether a frame was lost or damaged since the last keyframe, so that pictures may be damaged until the next one.
    package private(set) var needsKeyframe = true
    /// The format in the stream's last headers; nil before the first.
    package private(set) var format: VideoFormat?

    private var context: Context
    private var converter = PixelConverter()

    package init(codec: VideoCodec) throws(CodecError) {
        self.codec = codec
        context = try Context(codec)
    }

    /// Decodes a frame to a picture; nil when the frame shows none (for example before the first keyframe).
    ///
    /// An error concerns this frame only; the caller should request a keyframe (see `needsKeyframe`).
    ///
    /// - Parameter admit: called with the stream's format before the frame is decoded. Where it returns false, the
    ///   frame is skipped: the result is nil, and `needsKeyframe` is set.
    package func decode(
        _ frame: EncodedVideoFrame, admit: (VideoFormat) -> Bool = { _ in true }
    ) throws(CodecError) -> Picture? {
        guard frame.codec == codec else { throw .unsupportedInput("a \(frame.codec) frame in a \(codec) stream") }
        guard !frame.data.isEmpty else { return nil }
        do throws(CodecError) {
            let announced = try readFormat(of: frame)
            if let refusal = announced?.refusal { throw .unsupportedInput(refusal) }
            guard let known = announced ?? format else { throw .invalidData("a frame before any header") }
            guard admit(known) else {
                needsKeyframe = true
                return nil
            }
            try follow(known)
            try send(frame)
            let picture = try receive()
            if frame.isKeyframe, picture != nil { needsKeyframe = false }
            return picture
        } catch {
            needsKeyframe = true
            throw error
        }
    }

    /// The format in the frame's own headers; nil where it has none.
    private func readFormat(of frame: EncodedVideoFrame) throws(CodecError) -> VideoFormat? {
        if codec == .vp8 { return VideoFormat(vp8: frame.data) }
        var found: VideoFormat?
        for unit in H264.units(inAnnexB: frame.data) where AnnexB.type(of: unit, in: frame.data) == H264.UnitType.sps {
            guard let format = VideoFormat(h264: frame.data, unit) else { throw .invalidData("sequence parameter set") }
            // The library would allocate again whenever the slices of the access unit change between the sets.
            if let found, (found.width, found.height) != (format.width, format.height) {
                throw .unsupportedInput("sequence parameter sets of two sizes in one access unit")
            }
            if format.refusal != nil { return format }
            found = format
        }
        return found
    }

    /// Opens a new decoder for a new size, because the library keeps the memory of its largest pictures.
    private func follow(_ new: VideoFormat) throws(CodecError) {
        if let format, (format.width, format.height) != (new.width, new.height) {
            context = try Context(codec)
            needsKeyframe = true
        }
        format = new
    }

    private func send(_ frame: EncodedVideoFrame) throws(CodecError) {
        let packet = try Packet()
        try packet.fill(frame.data)
        packet.pointer.pointee.pts = frame.timestamp
        if frame.isKeyframe { packet.pointer.pointee.flags |= AV_PKT_FLAG_KEY }
        try FFmpeg.check(avcodec_send_packet(context.pointer, packet.pointer), "decode")
    }

    /// The newest picture that the decoder has completed.
    private func receive() throws(CodecError) -> Picture? {
        var newest: Picture?
        while true {
            let decoded = try Frame()
            let result = avcodec_receive_frame(context.pointer, decoded.pointer)
            if result == kAVERROR_EAGAIN || result == kAVERROR_EOF { return newest }
            try FFmpeg.check(result, "decode")
            let damage = decoded.pointer.pointee.flags & AV_FRAME_FLAG_CORRUPT
            if damage != 0 || decoded.pointer.pointee.decode_error_flags != 0 { throw .corruptFrame }
            newest = try converter.picture(from: decoded)
        }
    }

    /// Discards all reference frames; the next frame must be a keyframe.
    package func reset() {
        avcodec_flush_buffers(context.pointer)
        needsKeyframe = true
    }

    /// The sole owner of an open AVCodecContext.
    private struct Context: ~Copyable {
        let pointer: UnsafeMutablePointer<AVCodecContext>

        init(_ codec: VideoCodec) throws(CodecError) {
            FFmpeg.silenced
            // By name, because a search by id may return a hardware wrapper or libvpx.
            guard VideoCodec.received.contains(codec) else { throw .unavailable("a decoder of \(codec)") }
            let name = codec == .h264 ? "h264" : "vp8"
            guard let decoder = avcodec_find_decoder_by_name(name) else { throw .unavailable("the \(name) decoder") }
            var context: UnsafeMutablePointer<AVCodecContext>? = try FFmpeg.allocated(
                avcodec_alloc_context3(decoder), "video decoder")
            context?.pointee.thread_count = 1
            context?.pointee.flags |= AV_CODEC_FLAG_LOW_DELAY
            context?.pointee.max_pixels = Int64(VideoFormat.maxPixels)
            // A format that the parsed headers did not reveal is refused when the library chooses its pixel format,
            // which is before it allocates pictures.
            cffmpeg_take_plain_formats_only(context)
            let result = avcodec_open2(context, decoder, nil)
            guard result >= 0, let opened = context else {
                avcodec_free_context(&context)
                throw .failed(operation: "video decoder", reason: FFmpeg.reason(result))
            }
            pointer = opened
        }

        deinit {
            var context: UnsafeMutablePointer<AVCodecContext>? = pointer
            avcodec_free_context(&context)
        }
    }
}
