import CFFmpeg
import Codecs
import Glibc

/// Reads the packets of a recording that may be cut off anywhere. Not Sendable: one owner.
final class MP4Input {
    let path: String
    private(set) var streams: [UnsafeMutablePointer<AVStream>] = []

    private let format: UnsafeMutablePointer<AVFormatContext>
    private var packet: UnsafeMutablePointer<AVPacket>?
    /// The last decoding time of each stream: packets whose time does not increase are skipped.
    private var lastTimes: [Int64] = []
    /// Matroska has no decoding times; tracks have no B frames.
    private let decodesInOrder: Bool

    /// - Parameter format: FFmpeg's name of the file's format.
    init(path: String, format name: String = "mp4") throws(RecordingError) {
        self.path = path
        decodesInOrder = name == "matroska"
        FFmpegLog.silence()
        var format: UnsafeMutablePointer<AVFormatContext>?
        let result = avformat_open_input(&format, path, av_find_input_format(name), nil)
        guard result >= 0, let format else {
            throw .unreadable(path: path, reason: Self.reason(result))
        }
        self.format = format
        packet = av_packet_alloc()
        let found = avformat_find_stream_info(format, nil)
        guard found >= 0, format.pointee.nb_streams > 0 else {
            throw .unreadable(path: path, reason: found < 0 ? Self.reason(found) : "it has neither video nor audio")
        }
        // A track of chapters is read as chapters.
        let all = (0..<Int(format.pointee.nb_streams)).compactMap { format.pointee.streams[$0] }
        streams = Array(
            all.prefix { stream in
                let type = stream.pointee.codecpar.pointee.codec_type
                return type == AVMEDIA_TYPE_VIDEO || type == AVMEDIA_TYPE_AUDIO
            })
        lastTimes = streams.map { _ in .min }
    }

    deinit {
        av_packet_free(&packet)
        var format: UnsafeMutablePointer<AVFormatContext>? = format
        avformat_close_input(&format)
    }

    /// By the file's header, in seconds.
    var duration: Double { Double(max(0, format.pointee.duration)) / Double(AV_TIME_BASE) }

    /// What the file says of itself (`RecordingLabels.keys`).
    func label(_ key: String) -> String? {
        av_dict_get(format.pointee.metadata, key, nil, 0).flatMap { $0.pointee.value }.map { String(cString: $0) }
    }

    /// The chapters of the file.
    var chapters: [RecordingChapter] {
        (0..<Int(format.pointee.nb_chapters)).compactMap { index in
            guard let chapter = format.pointee.chapters[index]?.pointee else { return nil }
            let title = av_dict_get(chapter.metadata, "title", nil, 0).flatMap { $0.pointee.value }
            let at = Double(chapter.start) * Double(chapter.time_base.num) / Double(max(1, chapter.time_base.den))
            return RecordingChapter(at: at, title: title.map { String(cString: $0) } ?? "", isMark: false)
        }
    }

    /// The next complete packet, valid until the next call; nil at the end and where the file is cut off.
    func next() -> UnsafeMutablePointer<AVPacket>? {
        guard let packet else { return nil }
        while true {
            av_packet_unref(packet)
            guard av_read_frame(format, packet) >= 0 else { return nil }
            let index = Int(packet.pointee.stream_index)
            if decodesInOrder { packet.pointee.dts = packet.pointee.pts }
            guard packet.pointee.flags & AV_PKT_FLAG_CORRUPT == 0, packet.pointee.size > 0,
                streams.indices.contains(index),
                packet.pointee.dts != kAV_NOPTS_VALUE, packet.pointee.pts != kAV_NOPTS_VALUE,
                packet.pointee.dts > lastTimes[index]
            else { continue }
            lastTimes[index] = packet.pointee.dts
            return packet
        }
    }

    private static func reason(_ code: Int32) -> String {
        if code == kAVERROR_INVALIDDATA { return "it is not an MP4, or its beginning is missing" }
        return String(cString: strerror(cffmpeg_errno_from_error(code)))
    }
}
