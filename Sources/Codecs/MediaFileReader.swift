package import Basics
import CFFmpeg

/// One sample of a media file.
package enum MediaSample: Sendable {
    /// An H.264 (Annex B) or VP8 frame of the file, which can be sent without decoding.
    case video(EncodedVideoFrame)
    /// A decoded picture of any other codec; `timestamp` in ticks of 90 kHz.
    case picture(Picture, timestamp: Int64)
    /// An Opus packet of the file; `timestamp` in ticks of 48 kHz.
    case opus([UInt8], timestamp: Int64)
    /// Decoded mono samples of any other codec at 48 kHz; `timestamp` counts samples.
    case pcm([Float], timestamp: Int64)
}

/// Reads the first video track and the first audio track of any file that FFmpeg can read. Timestamps start near zero.
/// Not Sendable: one owner.
package final class MediaFileReader {
    package let path: String
    /// The duration in the file's header; nil when there is none.
    package let duration: Duration?
    package var hasVideo: Bool { video != nil }
    package var hasAudio: Bool { audio != nil }
    /// The size of the pictures in pixels; nil without video.
    package var videoSize: (width: Int, height: Int)? { video.map { ($0.width, $0.height) } }
    /// The frame rate of the video; 25 when the file has none.
    package let framesPerSecond: Double
    /// The codec in which the video is delivered as frames of the file; nil when it is decoded, or without video.
    package var videoPassthrough: VideoCodec? { video?.passthrough }
    /// Whether the audio is delivered as Opus packets of the file.
    package var passesOpus: Bool { audio?.passesOpus ?? false }

    private let format: UnsafeMutablePointer<AVFormatContext>
    private let packet: Packet
    private var video: VideoTrack?
    private var audio: AudioTrack?
    private var ready: [MediaSample] = []
    private var readyIndex = 0
    private var isAtEnd = false
    /// The file's first timestamp, in microseconds.
    private let origin: Int64

    /// Opens a file.
    ///
    /// - Parameter decode: whether every codec is decoded, so that `next` returns pictures and samples only.
    package init(path: String, decode: Bool = false) throws(CodecError) {
        FFmpeg.silenced
        self.path = path
        packet = try Packet()
        var format: UnsafeMutablePointer<AVFormatContext>?
        let opened = avformat_open_input(&format, path, nil, nil)
        guard opened >= 0, let format else { throw .file(path: path, reason: FFmpeg.reason(opened)) }
        self.format = format
        let found = avformat_find_stream_info(format, nil)
        duration = format.pointee.duration > 0 ? .microseconds(format.pointee.duration) : nil
        origin = format.pointee.start_time == kAV_NOPTS_VALUE ? 0 : format.pointee.start_time
        let videoIndex = av_find_best_stream(format, AVMEDIA_TYPE_VIDEO, -1, -1, nil, 0)
        let audioIndex = av_find_best_stream(format, AVMEDIA_TYPE_AUDIO, -1, -1, nil, 0)
        let videoStream = videoIndex >= 0 ? format.pointee.streams[Int(videoIndex)] : nil
        let audioStream = audioIndex >= 0 ? format.pointee.streams[Int(audioIndex)] : nil
        let rate = videoStream.map { av_q2d(av_guess_frame_rate(format, $0, nil)) } ?? 0
        framesPerSecond = rate > 0 && rate <= 240 ? rate : 25
        guard found >= 0, videoStream != nil || audioStream != nil else {
            throw .file(path: path, reason: found < 0 ? FFmpeg.reason(found) : "it has neither video nor audio")
        }
        if let videoStream { video = try VideoTrack(videoStream, index: videoIndex, decode: decode) }
        if let audioStream { audio = try AudioTrack(audioStream, index: audioIndex, decode: decode) }
    }

    deinit {
        var format: UnsafeMutablePointer<AVFormatContext>? = format
        avformat_close_input(&format)
    }

    /// The next sample in the file's order; nil at its end. Damaged packets are skipped.
    package func next() throws(CodecError) -> MediaSample? {
        while true {
            if readyIndex < ready.count {
                defer { readyIndex += 1 }
                return ready[readyIndex]
            }
            ready.removeAll(keepingCapacity: true)
            readyIndex = 0
            if isAtEnd { return nil }
            let result = av_read_frame(format, packet.pointer)
            defer { av_packet_unref(packet.pointer) }
            if result < 0 {
                isAtEnd = true
                if result != kAVERROR_EOF, result != kAVERROR_INVALIDDATA {
                    throw .file(path: path, reason: FFmpeg.reason(result))
                }
                try? video?.take(nil, origin: origin, into: &ready)
                try? audio?.take(nil, origin: origin, into: &ready)
            } else if packet.pointer.pointee.flags & AV_PKT_FLAG_CORRUPT == 0 {
                let index = packet.pointer.pointee.stream_index
                if index == video?.index { try? video?.take(packet.pointer, origin: origin, into: &ready) }
                if index == audio?.index { try? audio?.take(packet.pointer, origin: origin, into: &ready) }
            }
        }
    }

    /// Returns to the beginning of the file; the timestamps start again too.
    package func rewind() throws(CodecError) { try seek(to: .zero) }

    /// Goes on with the last keyframe before a time from the file's start.
    package func seek(to time: Duration) throws(CodecError) {
        let start = format.pointee.start_time == kAV_NOPTS_VALUE ? 0 : origin
        let result = av_seek_frame(format, -1, start + time.nanoseconds / 1000, AVSEEK_FLAG_BACKWARD)
        guard result >= 0 else { throw .file(path: path, reason: FFmpeg.reason(result)) }
        video?.flush()
        audio?.flush()
        ready.removeAll()
        readyIndex = 0
        isAtEnd = false
    }
}

/// Converts a stream's timestamp to ticks of `rate` since the file's start.
private func ticks(_ value: Int64, _ base: AVRational, origin: Int64, rate: Int32) -> Int64 {
    av_rescale_q(value, base, AVRational(num: 1, den: rate))
        &- av_rescale_q(origin, AVRational(num: 1, den: 1_000_000), AVRational(num: 1, den: rate))
}

private final class VideoTrack {
    let index: Int32
    let width: Int
    let height: Int
    let passthrough: VideoCodec?
    private let timeBase: AVRational
    private let decoder: StreamDecoder?
    private var converter = PixelConverter()
    /// Converts MP4's length-prefixed NAL units to Annex B with parameter sets before each IDR.
    private var filter: UnsafeMutablePointer<AVBSFContext>?

    init(_ stream: UnsafeMutablePointer<AVStream>, index: Int32, decode: Bool) throws(CodecError) {
        self.index = index
        let parameters = stream.pointee.codecpar.pointee
        width = Int(parameters.width)
        height = Int(parameters.height)
        timeBase = stream.pointee.time_base
        let codec: VideoCodec? =
            switch parameters.codec_id {
            // Frames that must be reordered cannot be sent live, so they are decoded.
            case AV_CODEC_ID_H264 where parameters.video_delay == 0: .h264
            case AV_CODEC_ID_VP8: .vp8
            default: nil
            }
        passthrough = decode ? nil : codec
        decoder = passthrough == nil ? try StreamDecoder(stream) : nil
        guard passthrough == .h264 else { return }
        guard let annexB = av_bsf_get_by_name("h264_mp4toannexb") else { throw .unavailable("the Annex B filter") }
        try FFmpeg.check(av_bsf_alloc(annexB, &filter), "Annex B filter")
        try FFmpeg.check(avcodec_parameters_copy(filter?.pointee.par_in, stream.pointee.codecpar), "Annex B filter")
        filter?.pointee.time_base_in = timeBase
        try FFmpeg.check(av_bsf_init(filter), "Annex B filter")
    }

    deinit { av_bsf_free(&filter) }

    func flush() {
        if let decoder { avcodec_flush_buffers(decoder.context) }
        if filter != nil { av_bsf_flush(filter) }
    }

    func take(
        _ packet: UnsafeMutablePointer<AVPacket>?, origin: Int64, into output: inout [MediaSample]
    ) throws(CodecError) {
        if let decoder {
            var made: [MediaSample] = []
            try decoder.decode(packet) { (frame: consuming Frame) throws(CodecError) in
                let time = frame.pointer.pointee.best_effort_timestamp
                let timestamp = ticks(time == kAV_NOPTS_VALUE ? 0 : time, timeBase, origin: origin, rate: 90_000)
                made.append(.picture(try converter.picture(from: frame), timestamp: timestamp))
            }
            output += made
            return
        }
        guard let packet else { return }
        if filter != nil {
            try FFmpeg.check(av_bsf_send_packet(filter, packet), "Annex B filter")
            while av_bsf_receive_packet(filter, packet) >= 0 {
                append(packet, origin, &output)
                av_packet_unref(packet)
            }
        } else {
            append(packet, origin, &output)
        }
    }

    private func append(_ packet: UnsafeMutablePointer<AVPacket>, _ origin: Int64, _ output: inout [MediaSample]) {
        guard let passthrough, packet.pointee.size > 0 else { return }
        let time = packet.pointee.pts == kAV_NOPTS_VALUE ? packet.pointee.dts : packet.pointee.pts
        let bytes = Array(UnsafeBufferPointer(start: packet.pointee.data, count: Int(packet.pointee.size)))
        output.append(
            .video(
                EncodedVideoFrame(
                    codec: passthrough, data: passthrough == .h264 ? AnnexB.normalized(bytes) : bytes,
                    isKeyframe: packet.pointee.flags & AV_PKT_FLAG_KEY != 0,
                    timestamp: ticks(time == kAV_NOPTS_VALUE ? 0 : time, timeBase, origin: origin, rate: 90_000),
                    width: width, height: height)))
    }
}

private final class AudioTrack {
    let index: Int32
    let passesOpus: Bool
    private let timeBase: AVRational
    private let decoder: StreamDecoder?
    private var resampler = FrameResampler()
    /// The index of the next sample; set by the first frame and counted from there, so that rounding leaves no gaps.
    private var position: Int64?

    init(_ stream: UnsafeMutablePointer<AVStream>, index: Int32, decode: Bool) throws(CodecError) {
        self.index = index
        timeBase = stream.pointee.time_base
        passesOpus = !decode && stream.pointee.codecpar.pointee.codec_id == AV_CODEC_ID_OPUS
        decoder = passesOpus ? nil : try StreamDecoder(stream)
    }

    func flush() {
        if let decoder { avcodec_flush_buffers(decoder.context) }
        resampler = FrameResampler()
        position = nil
    }

    func take(
        _ packet: UnsafeMutablePointer<AVPacket>?, origin: Int64, into output: inout [MediaSample]
    ) throws(CodecError) {
        guard let decoder else {
            guard let packet, packet.pointee.size > 0 else { return }
            let bytes = Array(UnsafeBufferPointer(start: packet.pointee.data, count: Int(packet.pointee.size)))
            let time = packet.pointee.pts == kAV_NOPTS_VALUE ? 0 : packet.pointee.pts
            output.append(.opus(bytes, timestamp: ticks(time, timeBase, origin: origin, rate: 48_000)))
            return
        }
        var samples: [Float] = []
        var first: Int64?
        try decoder.decode(packet) { (frame: consuming Frame) throws(CodecError) in
            let time = frame.pointer.pointee.best_effort_timestamp
            if first == nil, time != kAV_NOPTS_VALUE { first = ticks(time, timeBase, origin: origin, rate: 48_000) }
            try resampler.append(frame, to: &samples)
        }
        if packet == nil { try resampler.finish(into: &samples) }
        guard !samples.isEmpty else { return }
        var start = position ?? first ?? 0
        // A gap of more than 20 ms in the file is a gap in the output.
        if let first, first &- start > 960 { start = first }
        position = start &+ Int64(samples.count)
        output.append(.pcm(samples, timestamp: start))
    }
}
