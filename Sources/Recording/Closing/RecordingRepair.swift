import Basics
import CFFmpeg
import Glibc

/// Checks recordings, and closes those that a crash left open.
package enum RecordingRepair {
    /// Makes an ordinary MP4 of all readable packets of `file`.
    ///
    /// - Parameter output: the path of the result; where it is `file` itself, a large file is closed in place without a
    ///   copy.
    @discardableResult
    package static func repair(file: String, output: String) throws(RecordingError) -> RecordingSummary {
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

    /// Reads the whole file and reports its tracks.
    package static func check(file: String) throws(RecordingError) -> RecordingReport {
        var status = stat()
        guard stat(file, &status) == 0 else { throw .unreadable(path: file, reason: String(cString: strerror(errno))) }
        let input = try MP4Input(path: file)
        var tracks = input.streams.map(Self.track)
        var isSeen = tracks.map { _ in false }
        while let packet = input.next() {
            let index = Int(packet.pointee.stream_index)
            let base = input.streams[index].pointee.time_base
            let start = time(packet.pointee.pts, base)
            // Samples before zero prime the decoder and are not played.
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

    /// Whether the top-level boxes (ISO/IEC 14496-12 §4.2) are those of a closed file: one `moov`, an `mdat`, no
    /// `moof`, and the end of the last box at the end of the file.
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

    /// The most top-level boxes that are read; ordinary files have a handful.
    private static let maxBoxes = 64
}
