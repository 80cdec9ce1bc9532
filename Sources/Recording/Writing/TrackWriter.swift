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
    private let output: MuxerOutput
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
    private static let bufferSize: Int32 = 1 << 14

    init(sink: FileSink, _ codec: Codec, _ labels: RecordingLabels? = nil) throws(RecordingError) {
        self.sink = sink
        if case .opus(_, let priming) = codec {
            shift = Self.delay(priming: priming)
        } else {
            shift = 0
        }
        output = try RecordingError.fromCodec { () throws(CodecError) in
            let output = try MuxerOutput(sink.path.hasSuffix(".mkv") ? "matroska" : "webm")
            output.format.pointee.avoid_negative_ts = 0
            labels?.set(on: output.format, isMatroska: true)
            try Self.add(codec, to: output)
            try output.write(to: sink, buffer: Self.bufferSize, seeks: true)
            return output
        }
        let claim = try sink.claim(Int(Self.bufferSize), samples: 0)
        defer { withExtendedLifetime(claim) {} }
        try check(output.begin())
        avio_flush(output.format.pointee.pb)
        try sink.complete()
    }

    /// The length of the file so far.
    var duration: Duration { .milliseconds(end) }

    private static func add(_ codec: Codec, to output: MuxerOutput) throws(CodecError) {
        switch codec {
        case .opus(let head, let priming):
            try output.addStream(AVMEDIA_TYPE_AUDIO, AV_CODEC_ID_OPUS, rate: 1000, description: head) {
                $0.sample_rate = 48_000
                cffmpeg_set_mono(&$0.ch_layout)
                $0.initial_padding = Int32(priming)
            }
        case .video(let frame, let size):
            let isH264 = frame.codec == .h264
            try output.addStream(
                AVMEDIA_TYPE_VIDEO, isH264 ? AV_CODEC_ID_H264 : AV_CODEC_ID_VP8, rate: 1000,
                description: isH264 ? AnnexB.parameterSets(frame.data) : []
            ) {
                $0.width = Int32(size.width)
                $0.height = Int32(size.height)
            }
        }
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
        let time = max(time + shift, last == .min ? time + shift : last + 1)
        if time - clusterStart >= Self.clusterLength { try endCluster(at: time) }
        let packet = try RecordingError.fromCodec { () throws(CodecError) in
            try output.fill(data, stream: 0, time: time, duration: duration, isKeyframe: isKeyframe)
        }
        if padding > 0, let side = av_packet_new_side_data(packet, AV_PKT_DATA_SKIP_SAMPLES, 10) {
            // Samples to leave out at the beginning and at the end, little-endian, and two reasons.
            let ends = [UInt32(0), UInt32(padding)].flatMap { count in
                (0..<4).map { UInt8(truncatingIfNeeded: count >> (8 * UInt32($0))) }
            }
            for (index, byte) in (ends + [0, 0]).enumerated() { side[index] = byte }
        }
        try check(av_write_frame(output.format, packet))
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
        try check(av_write_frame(output.format, nil))
        avio_flush(output.format.pointee.pb)
        clusters += 1
        if clusters % Self.clustersOnDisk == 0 { try sink.secure() } else { try sink.complete() }
        try check(0)
    }

    /// Writes what is left and completes the file, as far as the disk takes it.
    func finish() throws(RecordingError) {
        defer { sink.finish() }
        try endCluster(at: end)
        try check(av_write_trailer(output.format))
        avio_flush(output.format.pointee.pb)
        try sink.secure()
    }

    /// - Throws: the disk's failure, or `codec` where the muxer refuses what a participant sent.
    private func check(_ code: Int32) throws(RecordingError) {
        if let failure = sink.failure { throw failure }
        guard code >= 0 else { throw .codec(String(cString: strerror(cffmpeg_errno_from_error(code)))) }
    }
}
