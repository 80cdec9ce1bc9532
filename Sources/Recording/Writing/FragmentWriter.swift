import Basics
import CFFmpeg
import Codecs

/// One encoded block of audio for a file.
struct AudioPacket {
    var data: [UInt8]
    /// The index of its first sample at 48 kHz; negative for priming samples.
    var position: Int64
    var sampleCount: Int
}

/// Writes a fragmented MP4 (ISO/IEC 14496-12 §8.8), in which all finished fragments can be played whatever happens
/// later.
///
/// Not Sendable: confined to the recorder's queue.
final class FragmentWriter {
    private let sink: FileSink
    private let format: UnsafeMutablePointer<AVFormatContext>
    private let packet: UnsafeMutablePointer<AVPacket>
    private var hasHeader = false
    private var isDirectorySecure = false
    /// The size of the current fragment so far.
    private var pending = (bytes: 0, samples: 0)

    private static let videoIndex: Int32 = 0
    /// 0 where there is no video.
    private let audioIndex: Int32
    private static let bufferSize = 1 << 16

    /// The FourCC `avc3`, the sample entry of H.264 whose parameter sets may change with any keyframe (ISO/IEC 14496-15
    /// §5.4.2.1), in FFmpeg's byte order.
    static let avc3: UInt32 = 0x3363_7661

    /// The video of a file.
    struct Video {
        var width: Int
        var height: Int
        /// SPS and PPS in Annex B.
        var parameterSets: [UInt8]
        /// Whether later keyframes may have other parameter sets.
        var changesInBand: Bool
    }

    /// - Parameter video: nil: the file has audio alone.
    init(
        sink: FileSink, video: Video?, audio: AudioEncoder, _ labels: RecordingLabels? = nil
    ) throws(RecordingError) {
        self.sink = sink
        audioIndex = video == nil ? 0 : 1
        var format: UnsafeMutablePointer<AVFormatContext>?
        var packet = av_packet_alloc()
        avformat_alloc_output_context2(&format, nil, "mp4", nil)
        guard let format, let packetPointer = packet else {
            avformat_free_context(format)
            av_packet_free(&packet)
            throw .codec("the MP4 writer is not available")
        }
        self.format = format
        self.packet = packetPointer
        // From here on all properties are set, so `deinit` runs even where this throws.
        if let video {
            try addVideo(
                width: video.width, height: video.height, parameterSets: video.parameterSets,
                tag: video.changesInBand ? Self.avc3 : 0)
        }
        try addAudio(audio)
        labels?.set(on: format, isMatroska: false)
        try openOutput()
        var options: OpaquePointer?
        defer { av_dict_free(&options) }
        // `endFragment` ends the fragments. The header waits for the first one, because only then the number of priming
        // samples is known.
        av_dict_set(&options, "movflags", "frag_custom+delay_moov+default_base_moof", 0)
        try check(avformat_write_header(format, &options))
    }

    deinit {
        if let output = format.pointee.pb {
            av_free(output.pointee.buffer)
            var context: UnsafeMutablePointer<AVIOContext>? = output
            avio_context_free(&context)
        }
        format.pointee.pb = nil
        avformat_free_context(format)
        var packet: UnsafeMutablePointer<AVPacket>? = packet
        av_packet_free(&packet)
    }

    /// - Parameter tag: the FourCC of the sample entry; 0 for the default.
    private func addVideo(width: Int, height: Int, parameterSets: [UInt8], tag: UInt32) throws(RecordingError) {
        guard let stream = avformat_new_stream(format, nil), let parameters = stream.pointee.codecpar else {
            throw .codec("out of memory")
        }
        stream.pointee.time_base = AVRational(num: 1, den: 90_000)
        parameters.pointee.codec_type = AVMEDIA_TYPE_VIDEO
        parameters.pointee.codec_id = AV_CODEC_ID_H264
        parameters.pointee.codec_tag = tag
        parameters.pointee.width = Int32(width)
        parameters.pointee.height = Int32(height)
        try setExtraData(parameterSets, parameters)
    }

    private func addAudio(_ audio: AudioEncoder) throws(RecordingError) {
        guard let stream = avformat_new_stream(format, nil), let parameters = stream.pointee.codecpar else {
            throw .codec("out of memory")
        }
        stream.pointee.time_base = AVRational(num: 1, den: 48_000)
        parameters.pointee.codec_type = AVMEDIA_TYPE_AUDIO
        parameters.pointee.codec_id = audio.isOpus ? AV_CODEC_ID_OPUS : AV_CODEC_ID_AAC
        parameters.pointee.sample_rate = 48_000
        cffmpeg_set_mono(&parameters.pointee.ch_layout)
        parameters.pointee.frame_size = Int32(audio.frameSize)
        parameters.pointee.initial_padding = Int32(audio.priming)
        parameters.pointee.bit_rate = Int64(audio.bitRate.bitsPerSecond)
        try setExtraData(audio.description, parameters)
    }

    private func setExtraData(_ bytes: [UInt8], _ parameters: UnsafeMutablePointer<AVCodecParameters>)
        throws(RecordingError)
    {
        let padding = Int(AV_INPUT_BUFFER_PADDING_SIZE)
        guard let memory = av_mallocz(bytes.count + padding) else { throw .codec("out of memory") }
        let data = memory.assumingMemoryBound(to: UInt8.self)
        bytes.withUnsafeBufferPointer { source in
            if let base = source.baseAddress { data.update(from: base, count: source.count) }
        }
        parameters.pointee.extradata = data
        parameters.pointee.extradata_size = Int32(bytes.count)
    }

    private func openOutput() throws(RecordingError) {
        guard let buffer = av_malloc(Self.bufferSize) else { throw .codec("out of memory") }
        // The sink outlives the context: this object owns both and frees the context first.
        let output = avio_alloc_context(
            buffer.assumingMemoryBound(to: UInt8.self), Int32(Self.bufferSize), 1,
            Unmanaged.passUnretained(sink).toOpaque(), nil,
            { opaque, bytes, count in
                guard let opaque, let bytes else { return cffmpeg_error_from_errno(EINVAL) }
                let sink = Unmanaged<FileSink>.fromOpaque(opaque).takeUnretainedValue()
                return sink.write(UnsafeRawBufferPointer(start: bytes, count: Int(count)))
                    ? count : cffmpeg_error_from_errno(EIO)
            }, nil)
        guard let output else {
            av_free(buffer)
            throw .codec("out of memory")
        }
        output.pointee.seekable = 0
        format.pointee.pb = output
        format.pointee.flags |= AVFMT_FLAG_CUSTOM_IO
    }

    /// Writes an access unit at `time` that is shown for `duration`, both in ticks of 90 kHz from the file's start.
    func write(video data: [UInt8], isKeyframe: Bool, time: Int64, duration: Int64) throws(RecordingError) {
        try write(data, stream: Self.videoIndex, rate: 90_000, time: time, duration: duration, isKeyframe: isKeyframe)
    }

    func write(_ audio: AudioPacket) throws(RecordingError) {
        try write(
            audio.data, stream: audioIndex, rate: 48_000, time: audio.position, duration: Int64(audio.sampleCount),
            isKeyframe: true)
    }

    private func write(
        _ data: [UInt8], stream: Int32, rate: Int32, time: Int64, duration: Int64, isKeyframe: Bool
    ) throws(RecordingError) {
        guard let count = Int32(exactly: data.count), av_new_packet(packet, count) >= 0 else {
            throw .codec("out of memory")
        }
        defer { av_packet_unref(packet) }
        data.withUnsafeBufferPointer { source in
            if let base = source.baseAddress { packet.pointee.data.update(from: base, count: source.count) }
        }
        packet.pointee.stream_index = stream
        packet.pointee.pts = time
        packet.pointee.dts = time
        packet.pointee.duration = duration
        packet.pointee.flags = isKeyframe ? AV_PKT_FLAG_KEY : 0
        guard let target = format.pointee.streams[Int(stream)] else { return }
        av_packet_rescale_ts(packet, AVRational(num: 1, den: rate), target.pointee.time_base)
        try check(av_write_frame(format, packet))
        pending.bytes += data.count
        pending.samples += 1
    }

    /// Ends the fragment and synchronises it to the disk.
    ///
    /// - Throws: `lowSpace` where it would use the disk's reserve; nothing is written then.
    func endFragment() throws(RecordingError) {
        let claim = try sink.claim(pending.bytes, samples: pending.samples)
        defer { withExtendedLifetime(claim) {} }
        pending = (0, 0)
        if !hasHeader {
            // The first flush with delay_moov writes the header only.
            try check(av_write_frame(format, nil))
            hasHeader = true
        }
        try check(av_write_frame(format, nil))
        avio_flush(format.pointee.pb)
        try sink.secure()
        if !isDirectorySecure {
            // The file's name must survive a crash too.
            WholeFile.syncFolder(of: sink.path)
            isDirectorySecure = true
        }
    }

    private func check(_ code: Int32) throws(RecordingError) {
        if let failure = sink.failure { throw failure }
        guard code >= 0 else {
            throw .writeFailed(path: sink.path, reason: String(cString: strerror(cffmpeg_errno_from_error(code))))
        }
    }
}
