import CFFmpeg

/// An FFmpeg decoder for a stream of a file or an input: unlike the decoder of a call, it may reorder and delay frames.
final class StreamDecoder {
    let context: UnsafeMutablePointer<AVCodecContext>

    /// - Parameters:
    ///   - maxPixels: a stream with larger pictures is refused by the library before it allocates them.
    ///   - whitelist: the decoders that may run, by name; nil: all.
    init(
        _ stream: UnsafeMutablePointer<AVStream>, maxPixels: Int = VideoFormat.maxPixels, whitelist: String? = nil
    ) throws(CodecError) {
        let id = stream.pointee.codecpar.pointee.codec_id
        guard let codec = Self.software(id) else {
            throw .unavailable("a decoder for \(String(cString: avcodec_get_name(id)))")
        }
        var context: UnsafeMutablePointer<AVCodecContext>? = try FFmpeg.allocated(
            avcodec_alloc_context3(codec), "decoder")
        avcodec_parameters_to_context(context, stream.pointee.codecpar)
        context?.pointee.thread_count = 1
        context?.pointee.pkt_timebase = stream.pointee.time_base
        context?.pointee.max_pixels = Int64(maxPixels)
        if let whitelist { av_opt_set(context, "codec_whitelist", whitelist, 0) }
        let result = avcodec_open2(context, codec, nil)
        guard result >= 0, let opened = context else {
            avcodec_free_context(&context)
            throw .failed(operation: "decoder", reason: FFmpeg.reason(result))
        }
        self.context = opened
    }

    deinit {
        var context: UnsafeMutablePointer<AVCodecContext>? = context
        avcodec_free_context(&context)
    }

    /// The library's preferred decoder that needs no device: a search by id alone may return a wrapper of one.
    static func software(_ id: AVCodecID) -> UnsafePointer<AVCodec>? {
        var state: UnsafeMutableRawPointer?
        while let codec = av_codec_iterate(&state) {
            if codec.pointee.id == id, av_codec_is_decoder(codec) != 0,
                codec.pointee.capabilities & AV_CODEC_CAP_HARDWARE == 0
            {
                return codec
            }
        }
        return nil
    }

    /// Forgets all frames; the next packet begins anew.
    func flush() { avcodec_flush_buffers(context) }

    /// Delivers every frame that a packet completes; nil stands for the end of the stream.
    func decode(
        _ packet: UnsafeMutablePointer<AVPacket>?, _ deliver: (consuming Frame) throws(CodecError) -> Void
    ) throws(CodecError) {
        try FFmpeg.check(avcodec_send_packet(context, packet), "decode")
        while true {
            let frame = try Frame()
            let result = avcodec_receive_frame(context, frame.pointer)
            if result == kAVERROR_EAGAIN || result == kAVERROR_EOF { return }
            try FFmpeg.check(result, "decode")
            try deliver(frame)
        }
    }
}
