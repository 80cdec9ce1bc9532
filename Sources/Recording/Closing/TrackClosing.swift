import Basics
import CFFmpeg

/// Completes the file of a track that a crash left without its length and index.
enum TrackClosing {
    /// Copies a small file, so that players can seek in it; a large one stays as it is, and plays.
    ///
    /// - Returns: the length of the media.
    static func close(_ path: String, reserve: DiskReserve?) throws(RecordingError) -> Duration {
        let length = try length(of: path)
        guard length > .zero else { throw .nothingRecorded(path: path) }
        if let size = MP4Closing.size(of: path), size <= MP4Closing.copyLimit,
            MP4Closing.hasRoom(for: size, at: path, reserve)
        {
            try MP4Closing.copy(path, into: path, muxer: path.hasSuffix(".mkv") ? "matroska" : "webm")
        }
        return length
    }

    /// The end of the last complete packet.
    static func length(of path: String) throws(RecordingError) -> Duration {
        let input = try MP4Input(path: path, format: "matroska")
        guard let stream = input.streams.first?.pointee else { throw .nothingRecorded(path: path) }
        var end = Int64(0)
        while let packet = input.next() { end = max(end, packet.pointee.pts &+ packet.pointee.duration) }
        return .microseconds(av_rescale_q(end, stream.time_base, AVRational(num: 1, den: 1_000_000)))
    }
}
