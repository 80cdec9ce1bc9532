import Basics
import CFFmpeg
import Glibc

/// What `check` found in a recording.
public struct RecordingReport: Sendable {
    public struct Track: Sendable {
        public enum Kind: Sendable { case video, audio }
        public var kind: Kind
        /// e.g. `h264`, `aac`.
        public var codec: String
        /// When its first picture or sample is shown, and when its last one ends.
        public var start: Duration
        public var end: Duration
        /// In pixels; 0 for sound.
        public var width: Int
        public var height: Int
        public var packetCount: Int
        /// Places to which a player can jump.
        public var keyframeCount: Int
    }

    public var file: String
    public var bytes: Int
    public var duration: Duration
    public var tracks: [Track]
    /// The sound's start minus the picture's: above zero when the sound begins later. Nil without both.
    public var avOffset: Duration?
    /// The same for their ends.
    public var avOffsetAtEnd: Duration?
    /// It is an ordinary MP4 with one index in front; a recording that a crash left open is not.
    public var closedProperly: Bool
}

/// Looks at recordings, and closes what a crash left open.
public enum RecordingRepair {
    /// Writes a proper MP4 of all that can be read of `file` to `output`, which may be the same. What cannot is left out.
    @discardableResult
    public static func repair(file: String, output: String) throws(RecordingError) -> RecordingSummary {
        try MP4Closing.close(file, into: output)
        let report = try check(file: output)
        return RecordingSummary(
            file: output, files: [output], duration: report.duration, bytes: report.bytes,
            tracks: report.tracks.map(\.codec), failure: nil)
    }

    /// Reads the whole file.
    public static func check(file: String) throws(RecordingError) -> RecordingReport {
        var status = stat()
        guard stat(file, &status) == 0 else { throw .unreadable(path: file, reason: String(cString: strerror(errno))) }
        let input = try MP4Input(path: file)
        var tracks = input.streams.map(Self.track)
        var isSeen = tracks.map { _ in false }
        while let packet = input.next() {
            let index = Int(packet.pointee.stream_index)
            let base = input.streams[index].pointee.time_base
            let start = time(packet.pointee.pts, base)
            // What lies before zero primes the decoder and is not shown.
            tracks[index].start = isSeen[index] ? min(tracks[index].start, max(start, .zero)) : max(start, .zero)
            tracks[index].end = max(tracks[index].end, time(packet.pointee.pts &+ packet.pointee.duration, base))
            tracks[index].packetCount += 1
            if packet.pointee.flags & AV_PKT_FLAG_KEY != 0 { tracks[index].keyframeCount += 1 }
            isSeen[index] = true
        }
        tracks = zip(tracks, isSeen).filter(\.1).map(\.0)
        guard let start = tracks.map(\.start).min(), let end = tracks.map(\.end).max() else {
            throw .nothingRecorded(path: file)
        }
        let video = tracks.first { $0.kind == .video }
        let audio = tracks.first { $0.kind == .audio }
        let both = video.flatMap { video in audio.map { (video, $0) } }
        return RecordingReport(
            file: file, bytes: Int(status.st_size), duration: end - start, tracks: tracks,
            avOffset: both.map { $0.1.start - $0.0.start }, avOffsetAtEnd: both.map { $0.1.end - $0.0.end },
            closedProperly: isClosed(file, size: Int(status.st_size)))
    }

    private static func track(_ stream: UnsafeMutablePointer<AVStream>) -> RecordingReport.Track {
        let parameters = stream.pointee.codecpar.pointee
        return RecordingReport.Track(
            kind: parameters.codec_type == AVMEDIA_TYPE_VIDEO ? .video : .audio,
            codec: String(cString: avcodec_get_name(parameters.codec_id)), start: .zero, end: .zero,
            width: Int(parameters.width), height: Int(parameters.height), packetCount: 0, keyframeCount: 0)
    }

    private static func time(_ ticks: Int64, _ base: AVRational) -> Duration {
        .microseconds(av_rescale_q(ticks, base, AVRational(num: 1, den: 1_000_000)))
    }

    /// Walks the top-level boxes (ISO/IEC 14496-12 §4.2): a closed file has `moov` before `mdat`, no `moof`, and ends with a box.
    static func isClosed(_ path: String, size: Int) -> Bool {
        guard let file = fopen(path, "rb") else { return false }
        defer { fclose(file) }
        var offset = 0
        var kinds: [String] = []
        while offset < size {
            var header = [UInt8](repeating: 0, count: 16)
            guard kinds.count < 64, fseek(file, offset, SEEK_SET) == 0 else { return false }
            let count = fread(&header, 1, 16, file)
            guard count >= 8 else { return false }
            var length = header[0..<4].reduce(0) { $0 << 8 | Int($1) }
            if length == 1 {
                guard count == 16 else { return false }
                length = Int(clamping: header[8..<16].reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
            }
            guard length >= 8, length <= size - offset else { return false }
            kinds.append(String(decoding: header[4..<8], as: UTF8.self))
            offset += length
        }
        guard let index = kinds.firstIndex(of: "moov"), let data = kinds.firstIndex(of: "mdat") else { return false }
        return index < data && !kinds.contains("moof")
    }
}
