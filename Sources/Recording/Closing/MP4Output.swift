import CFFmpeg
import Codecs
import Glibc

/// Writes packets of recordings to a new file without encoding them again. Not Sendable: one owner.
final class MP4Output {
    let path: String
    /// The packets so far.
    private(set) var count = 0

    private let output: MuxerOutput
    private var format: UnsafeMutablePointer<AVFormatContext> { output.format }
    /// Of each stream, what Matroska's reader has taken off the times of Opus, in ms (`TrackWriter.delay`).
    private var shifts: [Int64] = []

    /// - Parameters:
    ///   - input: its streams are those of the file.
    ///   - duration: in seconds; chapters after it are left out.
    init(
        _ path: String, like input: MP4Input, muxer: String = "mp4", chapters: [RecordingChapter],
        until duration: Double
    ) throws(RecordingError) {
        self.path = path
        output = try RecordingError.fromCodec { () throws(CodecError) in try MuxerOutput(muxer, path: path) }
        if muxer != "mp4" { format.pointee.avoid_negative_ts = 0 }
        for stream in input.streams {
            guard let copy = avformat_new_stream(format, nil),
                avcodec_parameters_copy(copy.pointee.codecpar, stream.pointee.codecpar) >= 0
            else { throw .codec("out of memory") }
            // The muxer chooses any other tag itself.
            if copy.pointee.codecpar.pointee.codec_tag != FragmentWriter.avc3 {
                copy.pointee.codecpar.pointee.codec_tag = 0
            }
            copy.pointee.time_base = stream.pointee.time_base
            let parameters = stream.pointee.codecpar.pointee
            let isShifted = muxer != "mp4" && parameters.codec_id == AV_CODEC_ID_OPUS
            shifts.append(isShifted ? TrackWriter.delay(priming: Int(parameters.initial_padding)) : 0)
        }
        for key in RecordingLabels.keys {
            if let value = input.label(key) { av_dict_set(&format.pointee.metadata, key, value, 0) }
        }
        add(chapters, until: duration)
        try check(avio_open(&format.pointee.pb, path, AVIO_FLAG_WRITE))
        try check(output.begin(["movflags": "faststart"]))
    }

    deinit { avio_closep(&output.format.pointee.pb) }

    /// The time base of a stream of the file.
    func timeBase(_ stream: Int) -> AVRational {
        format.pointee.streams[stream]?.pointee.time_base ?? AVRational(num: 1, den: 1)
    }

    /// Writes a packet whose times are in its stream's `timeBase`. The packet is empty afterwards.
    func write(_ packet: UnsafeMutablePointer<AVPacket>) throws(RecordingError) {
        packet.pointee.pos = -1
        let stream = Int(packet.pointee.stream_index)
        let shift = av_rescale_q(shifts[stream], AVRational(num: 1, den: 1000), timeBase(stream))
        packet.pointee.pts += shift
        packet.pointee.dts += shift
        try check(av_interleaved_write_frame(format, packet))
        count += 1
    }

    /// Completes the file.
    func finish() throws(RecordingError) {
        guard count > 0 else { throw .nothingRecorded(path: path) }
        try check(av_write_trailer(format))
        try check(format.pointee.pb.pointee.error)
    }

    /// The muxer writes them as a track and as a list.
    private func add(_ chapters: [RecordingChapter], until duration: Double) {
        let inside = chapters.filter { $0.at < duration }
        guard !inside.isEmpty,
            let list = av_calloc(inside.count, MemoryLayout<UnsafeMutablePointer<AVChapter>?>.stride)
        else { return }
        // The context owns the list and its chapters from here on.
        format.pointee.chapters = list.assumingMemoryBound(to: UnsafeMutablePointer<AVChapter>?.self)
        for (index, chapter) in inside.enumerated() {
            guard let memory = av_mallocz(MemoryLayout<AVChapter>.size) else { return }
            let made = memory.assumingMemoryBound(to: AVChapter.self)
            let end = index + 1 < inside.count ? inside[index + 1].at : duration
            made.pointee.id = Int64(index)
            made.pointee.time_base = AVRational(num: 1, den: 1000)
            made.pointee.start = Int64(chapter.at * 1000)
            made.pointee.end = Int64(end * 1000)
            av_dict_set(&made.pointee.metadata, "title", chapter.title, 0)
            format.pointee.chapters[index] = made
            format.pointee.nb_chapters = UInt32(index + 1)
        }
    }

    private func check(_ code: Int32) throws(RecordingError) {
        if code < 0 { throw .system(cffmpeg_errno_from_error(code), path: path) }
    }
}
