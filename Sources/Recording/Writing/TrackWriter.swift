import Basics
import CFFmpeg
import Codecs
import Glibc

/// Writes one track of one participant to a Matroska file (RFC 9559), as it was received: Opus and VP8 as WebM, H.264
/// as Matroska. All finished clusters can be played whatever happens later; `finish` adds the duration and the index.
///
/// Not Sendable: confined to the recorder's queue.
final class TrackWriter {
    enum Codec {
        /// The OpusHead (RFC 7845 §5.1), and the samples before the first real one.
        case opus(description: [UInt8], priming: Int)
        /// The first keyframe of what is written.
        case video(EncodedVideoFrame, VideoFormat)
    }

    let sink: FileSink
    /// What is added to times, in ms: a file begins with the samples that prime the decoder of Opus, and `CodecDelay` says
    /// that players begin behind them (RFC 9559 §5.1.4.1.5). libavformat 59 writes times as they are.
    private let shift: Int64
    private let format: UnsafeMutablePointer<AVFormatContext>
    private let packet: UnsafeMutablePointer<AVPacket>
    /// The size of the cluster so far.
    private var pending = (bytes: 0, samples: 0)
    /// The time of the last packet, and the end of the media.
    private var last = Int64.min
    private var end: Int64 = 0
    private var clusterStart: Int64 = 0
    private var clusters = 0

    /// Times are in ms, the unit of the format.
    private static let clusterLength: Int64 = 1000
    /// Clusters after which the file is synchronised to the disk: a room of fifty has as many files of audio alone.
    private static let clustersOnDisk = 5
    private static let bufferSize = 1 << 14

    init(sink: FileSink, _ codec: Codec, _ labels: RecordingLabels? = nil) throws(RecordingError) {
        self.sink = sink
        if case .opus(_, let priming) = codec {
            shift = Self.delay(priming: priming)
        } else {
            shift = 0
        }
        FFmpegLog.silence()
        var format: UnsafeMutablePointer<AVFormatContext>?
        var packet = av_packet_alloc()
        avformat_alloc_output_context2(&format, nil, sink.path.hasSuffix(".mkv") ? "matroska" : "webm", nil)
        guard let format, let packetPointer = packet else {
            avformat_free_context(format)
            av_packet_free(&packet)
            throw .codec("the Matroska writer is not available")
        }
        self.format = format
        self.packet = packetPointer
        format.pointee.avoid_negative_ts = 0
        labels?.set(on: format, isMatroska: true)
        // From here on all properties are set, so `deinit` runs even where this throws.
        try addStream(codec)
        try openOutput()
        let claim = try sink.claim(Self.bufferSize, samples: 0)
        defer { withExtendedLifetime(claim) {} }
        try check(avformat_write_header(format, nil))
        avio_flush(format.pointee.pb)
        try sink.complete()
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

    /// The length of the file so far.
    var duration: Duration { .milliseconds(end) }

    private func addStream(_ codec: Codec) throws(RecordingError) {
        guard let stream = avformat_new_stream(format, nil), let parameters = stream.pointee.codecpar else {
            throw .codec("out of memory")
        }
        stream.pointee.time_base = AVRational(num: 1, den: 1000)
        let description: [UInt8]
        switch codec {
        case .opus(let head, let priming):
            parameters.pointee.codec_type = AVMEDIA_TYPE_AUDIO
            parameters.pointee.codec_id = AV_CODEC_ID_OPUS
            parameters.pointee.sample_rate = 48_000
            cffmpeg_set_mono(&parameters.pointee.ch_layout)
            parameters.pointee.initial_padding = Int32(priming)
            description = head
        case .video(let frame, let size):
            parameters.pointee.codec_type = AVMEDIA_TYPE_VIDEO
            parameters.pointee.codec_id = frame.codec == .h264 ? AV_CODEC_ID_H264 : AV_CODEC_ID_VP8
            parameters.pointee.width = Int32(size.width)
            parameters.pointee.height = Int32(size.height)
            description = frame.codec == .h264 ? AnnexB.parameterSets(frame.data) : []
        }
        let padding = Int(AV_INPUT_BUFFER_PADDING_SIZE)
        guard !description.isEmpty else { return }
        guard let memory = av_mallocz(description.count + padding) else { throw .codec("out of memory") }
        memory.copyMemory(from: description, byteCount: description.count)
        parameters.pointee.extradata = memory.assumingMemoryBound(to: UInt8.self)
        parameters.pointee.extradata_size = Int32(description.count)
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
            },
            { opaque, offset, whence in
                guard let opaque, whence == SEEK_SET else { return Int64(cffmpeg_error_from_errno(EINVAL)) }
                let sink = Unmanaged<FileSink>.fromOpaque(opaque).takeUnretainedValue()
                return sink.seek(to: Int(offset)) ? offset : Int64(cffmpeg_error_from_errno(EIO))
            })
        guard let output else {
            av_free(buffer)
            throw .codec("out of memory")
        }
        format.pointee.pb = output
        format.pointee.flags |= AVFMT_FLAG_CUSTOM_IO
    }

    /// The time of Opus' priming samples in ms, rounded as FFmpeg's reader does that takes it off.
    static func delay(priming: Int) -> Int64 { Int64((Double(priming) / 48).rounded(.toNearestOrAwayFromZero)) }

    /// Writes a packet.
    ///
    /// - Parameters:
    ///   - time: in ms from the media's start, negative for what primes the decoder; one that does not increase is moved
    ///     behind the packet before.
    ///   - duration: in ms, without the padding.
    ///   - padding: samples at 48 kHz that fill up the last packet and are not played (`DiscardPadding`, RFC 9559
    ///     §5.1.3.5.7).
    func write(
        _ data: [UInt8], time: Int64, duration: Int64, padding: Int = 0, isKeyframe: Bool
    ) throws(RecordingError) {
        guard let count = Int32(exactly: data.count), av_new_packet(packet, count) >= 0 else {
            throw .codec("out of memory")
        }
        defer { av_packet_unref(packet) }
        data.withUnsafeBufferPointer { source in
            if let base = source.baseAddress { packet.pointee.data.update(from: base, count: source.count) }
        }
        if padding > 0, let side = av_packet_new_side_data(packet, AV_PKT_DATA_SKIP_SAMPLES, 10) {
            // Samples to leave out at the beginning and at the end, little-endian, and two reasons.
            let ends = [UInt32(0), UInt32(padding)].flatMap { count in
                (0..<4).map { UInt8(truncatingIfNeeded: count >> (8 * UInt32($0))) }
            }
            for (index, byte) in (ends + [0, 0]).enumerated() { side[index] = byte }
        }
        let time = max(time + shift, last == .min ? time + shift : last + 1)
        if time - clusterStart >= Self.clusterLength { try endCluster(at: time) }
        packet.pointee.stream_index = 0
        packet.pointee.pts = time
        packet.pointee.dts = time
        packet.pointee.duration = duration
        packet.pointee.flags = isKeyframe ? AV_PKT_FLAG_KEY : 0
        guard let stream = format.pointee.streams[0] else { return }
        av_packet_rescale_ts(packet, AVRational(num: 1, den: 1000), stream.pointee.time_base)
        try check(av_write_frame(format, packet))
        (last, end) = (time, max(end, time - shift + duration))
        pending.bytes += data.count
        pending.samples += 1
    }

    /// - Throws: `lowSpace` where it would use the disk's reserve; nothing is written then.
    private func endCluster(at time: Int64) throws(RecordingError) {
        clusterStart = time
        let claim = try sink.claim(pending.bytes, samples: pending.samples)
        defer { withExtendedLifetime(claim) {} }
        pending = (0, 0)
        try check(av_write_frame(format, nil))
        avio_flush(format.pointee.pb)
        clusters += 1
        if clusters % Self.clustersOnDisk == 0 { try sink.secure() } else { try sink.complete() }
        try check(0)
    }

    /// Writes what is left and completes the file, as far as the disk takes it.
    func finish() throws(RecordingError) {
        defer { sink.finish() }
        try endCluster(at: end)
        try check(av_write_trailer(format))
        avio_flush(format.pointee.pb)
        try sink.secure()
    }

    /// - Throws: the disk's failure, or `codec` where the muxer refuses what a participant sent.
    private func check(_ code: Int32) throws(RecordingError) {
        if let failure = sink.failure { throw failure }
        guard code >= 0 else { throw .codec(String(cString: strerror(cffmpeg_errno_from_error(code)))) }
    }
}
