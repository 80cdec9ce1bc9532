import CFFmpeg

/// Writes H.264 and AAC to a connection as FLV (RTMP) or MPEG-TS (SRT). Not Sendable: one thread owns it.
final class StreamMuxer {
    private let connection: OutputConnection
    private let url: MediaURL
    private let format: UnsafeMutablePointer<AVFormatContext>
    private let packet: UnsafeMutablePointer<AVPacket>
    private var parameterSets: [UInt8]
    private var hasHeader = false
    /// By stream: the last time that was written.
    private var last: [Int64] = [-1, -1]

    private static let video = (index: 0, rate: Int32(90_000))
    private static let audio = (index: 1, rate: Int32(48_000))
    /// Audio comes before the picture of its time, which is encoded meanwhile; it waits for it no longer, in
    /// microseconds.
    private static let longestInterleaving: Int64 = 1_000_000

    /// - Parameters:
    ///   - parameterSets: the SPS and PPS of the first keyframe, in Annex B.
    ///   - audioConfiguration: the AudioSpecificConfig.
    init(
        _ connection: OutputConnection, to url: MediaURL, width: Int, height: Int, parameterSets: [UInt8],
        audioConfiguration: [UInt8]
    ) throws(StreamingError) {
        self.connection = connection
        self.url = url
        self.parameterSets = parameterSets
        var format: UnsafeMutablePointer<AVFormatContext>?
        var packet = av_packet_alloc()
        avformat_alloc_output_context2(&format, nil, url.scheme == "srt" ? "mpegts" : "flv", nil)
        guard let format, let packetPointer = packet else {
            avformat_free_context(format)
            av_packet_free(&packet)
            throw .failed("out of memory")
        }
        self.format = format
        self.packet = packetPointer
        format.pointee.pb = connection.io
        format.pointee.flags |= AVFMT_FLAG_FLUSH_PACKETS
        format.pointee.max_interleave_delta = Self.longestInterleaving
        try addStream(AVMEDIA_TYPE_VIDEO, AV_CODEC_ID_H264, parameterSets) {
            $0.width = Int32(width)
            $0.height = Int32(height)
        }
        try addStream(AVMEDIA_TYPE_AUDIO, AV_CODEC_ID_AAC, audioConfiguration) {
            $0.sample_rate = Self.audio.rate
            $0.frame_size = 1024
            cffmpeg_set_mono(&$0.ch_layout)
        }
        var options: OpaquePointer?
        defer { av_dict_free(&options) }
        // The end of a stream cannot go back to write its length.
        av_dict_set(&options, "flvflags", "no_duration_filesize", 0)
        try LibraryFailure.check(url) { avformat_write_header(format, &options) }
        hasHeader = true
    }

    deinit {
        format.pointee.pb = nil
        avformat_free_context(format)
        var packet: UnsafeMutablePointer<AVPacket>? = packet
        av_packet_free(&packet)
    }

    private func addStream(
        _ type: AVMediaType, _ codec: AVCodecID, _ extra: [UInt8], _ fill: (inout AVCodecParameters) -> Void
    ) throws(StreamingError) {
        guard let stream = avformat_new_stream(format, nil), let parameters = stream.pointee.codecpar,
            let memory = av_mallocz(extra.count + Int(AV_INPUT_BUFFER_PADDING_SIZE))
        else { throw .failed("out of memory") }
        parameters.pointee.codec_type = type
        parameters.pointee.codec_id = codec
        fill(&parameters.pointee)
        memory.copyMemory(from: extra, byteCount: extra.count)
        parameters.pointee.extradata = memory.assumingMemoryBound(to: UInt8.self)
        parameters.pointee.extradata_size = Int32(extra.count)
    }

    /// Writes an access unit.
    ///
    /// - Parameters:
    ///   - time: ticks of 90 kHz since the connection's first keyframe.
    ///   - sets: the SPS and PPS in it; empty: none. Where they are new, FLV repeats its header with them.
    func write(video data: [UInt8], isKeyframe: Bool, time: Int64, sets: [UInt8]) throws(StreamingError) {
        let isNew = !sets.isEmpty && sets != parameterSets
        if isNew { parameterSets = sets }
        try write(data, Self.video, time, isKeyframe: isKeyframe, sideData: isNew ? sets : [])
    }

    /// - Parameter time: samples since the connection's first keyframe.
    func write(audio data: [UInt8], time: Int64) throws(StreamingError) {
        try write(data, Self.audio, time, isKeyframe: true, sideData: [])
    }

    private func write(
        _ data: [UInt8], _ track: (index: Int, rate: Int32), _ time: Int64, isKeyframe: Bool, sideData: [UInt8]
    ) throws(StreamingError) {
        guard let count = Int32(exactly: data.count), av_new_packet(packet, count) >= 0,
            let stream = format.pointee.streams[track.index]
        else { throw .failed("out of memory") }
        packet.pointee.data.update(from: data, count: data.count)
        if !sideData.isEmpty,
            let side = av_packet_new_side_data(packet, AV_PKT_DATA_NEW_EXTRADATA, sideData.count)
        {
            side.update(from: sideData, count: sideData.count)
        }
        packet.pointee.stream_index = Int32(track.index)
        packet.pointee.pts = time
        packet.pointee.dts = time
        packet.pointee.flags = isKeyframe ? AV_PKT_FLAG_KEY : 0
        av_packet_rescale_ts(packet, AVRational(num: 1, den: track.rate), stream.pointee.time_base)
        // Muxers refuse two packets of a time, into which FLV's milliseconds may round.
        let place = max(packet.pointee.pts, last[track.index] + 1)
        last[track.index] = place
        (packet.pointee.pts, packet.pointee.dts) = (place, place)
        // It takes the packet over, whatever it returns.
        try LibraryFailure.check(url) { av_interleaved_write_frame(format, packet) }
    }

    /// Writes what waits, and the end.
    func finish() throws(StreamingError) {
        try LibraryFailure.check(url) { av_write_trailer(format) }
    }
}
