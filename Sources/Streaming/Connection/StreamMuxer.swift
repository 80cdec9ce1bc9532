import CFFmpeg
import Codecs

/// Writes H.264 and AAC to a connection as FLV (RTMP) or MPEG-TS (SRT). Not Sendable: one thread owns it.
final class StreamMuxer {
    private let connection: OutputConnection
    private let url: MediaURL
    private let output: MuxerOutput
    private var parameterSets: [UInt8]
    /// By stream: the last time that was written.
    private var last: [Int64] = [-1, -1]

    private static let (video, audio) = (0, 1)
    private static let (videoRate, audioRate) = (Int32(90_000), Int32(48_000))
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
        do throws(CodecError) {
            output = try MuxerOutput(url.scheme == "srt" ? "mpegts" : "flv")
            output.format.pointee.pb = connection.io
            output.format.pointee.flags |= AVFMT_FLAG_FLUSH_PACKETS
            output.format.pointee.max_interleave_delta = Self.longestInterleaving
            try output.addStream(
                AVMEDIA_TYPE_VIDEO, AV_CODEC_ID_H264, rate: Self.videoRate, description: parameterSets
            ) {
                $0.width = Int32(width)
                $0.height = Int32(height)
            }
            try output.addStream(
                AVMEDIA_TYPE_AUDIO, AV_CODEC_ID_AAC, rate: Self.audioRate, description: audioConfiguration
            ) {
                $0.sample_rate = Self.audioRate
                $0.frame_size = 1024
                cffmpeg_set_mono(&$0.ch_layout)
            }
        } catch {
            throw .failed("\(error)")
        }
        // The end of a stream cannot go back to write its length.
        try LibraryFailure.check(url) { output.begin(["flvflags": "no_duration_filesize"]) }
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
        _ data: [UInt8], _ stream: Int, _ time: Int64, isKeyframe: Bool, sideData: [UInt8]
    ) throws(StreamingError) {
        let packet: UnsafeMutablePointer<AVPacket>
        do throws(CodecError) {
            packet = try output.fill(data, stream: stream, time: time, isKeyframe: isKeyframe)
        } catch {
            throw .failed("\(error)")
        }
        if !sideData.isEmpty,
            let side = av_packet_new_side_data(packet, AV_PKT_DATA_NEW_EXTRADATA, sideData.count)
        {
            side.update(from: sideData, count: sideData.count)
        }
        // Muxers refuse two packets of a time, into which FLV's milliseconds may round.
        let place = max(packet.pointee.pts, last[stream] + 1)
        last[stream] = place
        (packet.pointee.pts, packet.pointee.dts) = (place, place)
        // It takes the packet over, whatever it returns.
        try LibraryFailure.check(url) { av_interleaved_write_frame(output.format, packet) }
    }

    /// Writes what waits, and the end.
    func finish() throws(StreamingError) {
        try LibraryFailure.check(url) { av_write_trailer(output.format) }
    }
}
