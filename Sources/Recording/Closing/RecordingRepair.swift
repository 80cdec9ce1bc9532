import Basics
import CFFmpeg
import Glibc

/// Looks at recordings, and closes what a crash left open.
public enum RecordingRepair {
    /// Makes a proper MP4 of all that can be read of `file`. What cannot is left out.
    ///
    /// - Parameter output: where the result goes; where that is `file` itself, a large one is closed in its place
    ///   without a copy.
    @discardableResult
    public static func repair(file: String, output: String) throws(RecordingError) -> RecordingSummary {
        let report: RecordingReport
        if file == output, !isClosed(file) {
            report = try MP4Closing.close(file)
        } else {
            try MP4Closing.copy(file, into: output)
            report = try check(file: output)
        }
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
        guard !tracks.isEmpty else { throw .nothingRecorded(path: file) }
        return RecordingReport(file: file, bytes: Int(status.st_size), tracks: tracks, closedProperly: isClosed(file))
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

    /// Walks the top-level boxes (ISO/IEC 14496-12 §4.2): a closed file has one `moov`, an `mdat`, no `moof`, and ends
    /// with a box.
    static func isClosed(_ path: String) -> Bool {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        let file = MP4File(descriptor: descriptor, size: SystemFile.size(descriptor))
        var offset = 0
        var kinds: [String] = []
        while offset < file.size {
            guard kinds.count < maxBoxes, let place = file.box(at: offset), place.kind != "moof" else { return false }
            kinds.append(place.kind)
            offset = place.end
        }
        return kinds.count { $0 == "moov" } == 1 && kinds.contains("mdat")
    }

    /// Ordinary files have a handful at the top.
    private static let maxBoxes = 64
}
