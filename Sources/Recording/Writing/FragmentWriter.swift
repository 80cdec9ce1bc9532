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
    private let output: MuxerOutput
    private var hasHeader = false
    private var isDirectorySecure = false
    /// The size of the current fragment so far.
    private var pending = (bytes: 0, samples: 0)

    private static let videoIndex = 0
    /// 0 where there is no video.
    private let audioIndex: Int
    private static let bufferSize: Int32 = 1 << 16

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
        output = try RecordingError.fromCodec { () throws(CodecError) in
            let output = try MuxerOutput("mp4")
            if let video {
                try output.addStream(
                    AVMEDIA_TYPE_VIDEO, AV_CODEC_ID_H264, rate: 90_000, description: video.parameterSets
                ) {
                    if video.changesInBand { $0.codec_tag = Self.avc3 }
                    $0.width = Int32(video.width)
                    $0.height = Int32(video.height)
                }
            }
            let codec = audio.isOpus ? AV_CODEC_ID_OPUS : AV_CODEC_ID_AAC
            try output.addStream(AVMEDIA_TYPE_AUDIO, codec, rate: 48_000, description: audio.description) {
                $0.sample_rate = 48_000
                cffmpeg_set_mono(&$0.ch_layout)
                $0.frame_size = Int32(audio.frameSize)
                $0.initial_padding = Int32(audio.priming)
                $0.bit_rate = Int64(audio.bitRate.bitsPerSecond)
            }
            labels?.set(on: output.format, isMatroska: false)
            try output.write(to: sink, buffer: Self.bufferSize, seeks: false)
            return output
        }
        // `endFragment` ends the fragments. The header waits for the first one, because only then the number of priming
        // samples is known.
        try check(output.begin(["movflags": "frag_custom+delay_moov+default_base_moof"]))
    }

    /// Writes an access unit at `time` that is shown for `duration`, both in ticks of 90 kHz from the file's start.
    func write(video data: [UInt8], isKeyframe: Bool, time: Int64, duration: Int64) throws(RecordingError) {
        try write(data, stream: Self.videoIndex, time: time, duration: duration, isKeyframe: isKeyframe)
    }

    func write(_ audio: AudioPacket) throws(RecordingError) {
        try write(
            audio.data, stream: audioIndex, time: audio.position, duration: Int64(audio.sampleCount), isKeyframe: true)
    }

    private func write(
        _ data: [UInt8], stream: Int, time: Int64, duration: Int64, isKeyframe: Bool
    ) throws(RecordingError) {
        let packet = try RecordingError.fromCodec { () throws(CodecError) in
            try output.fill(data, stream: stream, time: time, duration: duration, isKeyframe: isKeyframe)
        }
        try check(av_write_frame(output.format, packet))
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
            try check(av_write_frame(output.format, nil))
            hasHeader = true
        }
        try check(av_write_frame(output.format, nil))
        avio_flush(output.format.pointee.pb)
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
