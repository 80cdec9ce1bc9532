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
        var (end, padding) = (Int64(0), Int64(0))
        while let packet = input.next() {
            end = max(end, packet.pointee.pts &+ packet.pointee.duration)
            padding = Self.padding(packet)
        }
        let whole = av_rescale_q(end, stream.time_base, AVRational(num: 1, den: 1_000_000))
        return .microseconds(whole - padding * 1_000_000 / 48_000)
    }

    /// The samples at 48 kHz at a packet's end that are not played.
    private static func padding(_ packet: UnsafeMutablePointer<AVPacket>) -> Int64 {
        var size = 0
        guard let side = av_packet_get_side_data(packet, AV_PKT_DATA_SKIP_SAMPLES, &size), size >= 8 else { return 0 }
        return (4..<8).reversed().reduce(0) { $0 << 8 | Int64(side[$1]) }
    }
}
