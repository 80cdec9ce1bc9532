package import Basics
import CFFmpeg

/// One AAC-LC access unit.
package struct AACPacket: Sendable {
    package var data: [UInt8]
    /// The index of its first sample; −1024 for the first packet, which only primes the decoder.
    package var position: Int64
    /// How many of its samples are played: 1024, fewer in the last packet.
    package var sampleCount: Int
}

/// Encodes mono audio at 48 kHz to AAC-LC for recordings, in blocks of any number of samples. Not Sendable: one owner.
package final class AACEncoder {
    /// The AudioSpecificConfig, which a decoder needs before the first packet (ISO/IEC 14496-3 §1.6.2.1).
    package let audioSpecificConfig: [UInt8]
    /// How many priming samples precede the first real one.
    package let priming: Int
    package let bitRate: BitRate

    private let context: UnsafeMutablePointer<AVCodecContext>
    private let input: Frame
    private let output: Packet
    /// Samples that do not fill a frame yet: a mixing tick has 960 samples, an AAC frame 1024.
    private var pending: [Float] = []
    private var position: Int64 = 0

    package static let sampleRate = 48_000
    package static let frameSize = 1024

    package init(bitRate: BitRate = .kilobits(96)) throws(CodecError) {
        FFmpeg.silenced
        self.bitRate = bitRate
        input = try Frame()
        output = try Packet()
        guard let codec = avcodec_find_encoder_by_name("aac") else { throw .unavailable("the AAC encoder") }
        var context: UnsafeMutablePointer<AVCodecContext>? = try FFmpeg.allocated(
            avcodec_alloc_context3(codec), "AAC encoder")
        if let context {
            context.pointee.sample_fmt = AV_SAMPLE_FMT_FLTP
            context.pointee.sample_rate = Int32(Self.sampleRate)
            cffmpeg_set_mono(&context.pointee.ch_layout)
            context.pointee.bit_rate = Int64(bitRate.bitsPerSecond)
            context.pointee.time_base = AVRational(num: 1, den: Int32(Self.sampleRate))
            context.pointee.thread_count = 1
            // Puts the AudioSpecificConfig into `extradata` instead of before each packet.
            context.pointee.flags |= AV_CODEC_FLAG_GLOBAL_HEADER
        }
        let result = avcodec_open2(context, codec, nil)
        guard result >= 0, let opened = context, Int(opened.pointee.frame_size) == Self.frameSize else {
            avcodec_free_context(&context)
            throw .failed(operation: "AAC encoder", reason: FFmpeg.reason(result))
        }
        self.context = opened
        priming = Int(opened.pointee.initial_padding)
        audioSpecificConfig = Array(
            UnsafeBufferPointer(start: opened.pointee.extradata, count: Int(opened.pointee.extradata_size)))
    }

    deinit {
        var context: UnsafeMutablePointer<AVCodecContext>? = context
        avcodec_free_context(&context)
    }

    /// Encodes samples (±1) and delivers the packets that they complete.
    package func encode(_ samples: [Float], _ deliver: (AACPacket) -> Void) throws(CodecError) {
        pending += samples
        var start = 0
        while pending.count - start >= Self.frameSize {
            try encodeFrame(pending[start..<start + Self.frameSize], deliver)
            start += Self.frameSize
        }
        pending.removeFirst(start)
    }

    /// Delivers the remaining packets; the encoder cannot be used afterwards.
    package func finish(_ deliver: (AACPacket) -> Void) throws(CodecError) {
        if !pending.isEmpty {
            // The last frame may be short; the duration of its packet then ends with the last real sample.
            try encodeFrame(pending[...], deliver)
            pending = []
        }
        try FFmpeg.check(avcodec_send_frame(context, nil), "AAC encoder")
        try drain(deliver)
    }

    private func encodeFrame(_ samples: ArraySlice<Float>, _ deliver: (AACPacket) -> Void) throws(CodecError) {
        let frame = input.pointer
        frame.pointee.nb_samples = Int32(samples.count)
        frame.pointee.format = AV_SAMPLE_FMT_FLTP.rawValue
        frame.pointee.sample_rate = Int32(Self.sampleRate)
        cffmpeg_set_mono(&frame.pointee.ch_layout)
        try FFmpeg.check(av_frame_get_buffer(frame, 0), "AAC frame")
        defer { av_frame_unref(frame) }
        samples.withUnsafeBufferPointer { source in
            guard let base = source.baseAddress, let plane = frame.pointee.data.0 else { return }
            UnsafeMutableRawPointer(plane).copyMemory(from: base, byteCount: source.count * MemoryLayout<Float>.stride)
        }
        frame.pointee.pts = position
        position += Int64(samples.count)
        try FFmpeg.check(avcodec_send_frame(context, frame), "AAC encoder")
        try drain(deliver)
    }

    private func drain(_ deliver: (AACPacket) -> Void) throws(CodecError) {
        while true {
            let result = avcodec_receive_packet(context, output.pointer)
            if result == kAVERROR_EAGAIN || result == kAVERROR_EOF { return }
            try FFmpeg.check(result, "AAC encoder")
            // libavcodec counts from −initial_padding and cuts the last packet's duration to the real samples.
            let duration = Int(output.pointer.pointee.duration)
            deliver(
                AACPacket(
                    data: output.bytes, position: output.pointer.pointee.pts,
                    sampleCount: duration > 0 ? duration : Self.frameSize))
            av_packet_unref(output.pointer)
        }
    }
}
