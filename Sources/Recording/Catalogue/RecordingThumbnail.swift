import Basics
import Codecs

/// The small picture of a recording, a JPEG beside its files: made when it is asked for first.
package enum RecordingThumbnail {
    static let suffix = ".jpg"
    static let temporarySuffix = suffix + Sidecar.temporarySuffix
    /// In pixels.
    static let width = 320
    static let maxHeight = 480
    /// Where the picture is taken: at the beginning people still come.
    private static let part = 3
    /// Frames that are read in search of a picture.
    private static let mostFrames = 500

    /// Makes the file of a complete recording, unless it is there. Takes the time of some decoded frames, and may wait
    /// for the disk.
    ///
    /// - Returns: its path.
    package static func make(
        of entry: RecordingEntry, in catalogue: RecordingCatalogue
    ) throws(RecordingError) -> String {
        let name = entry.id + suffix
        if catalogue.exists(name) { return catalogue.path(name) }
        let path = catalogue.path(of: entry)
        guard catalogue.exists(entry.file) else { throw .unreadable(path: path, reason: "it is not there any more") }
        let bytes: [UInt8]
        do throws(CodecError) {
            bytes = try picture(of: path).jpegData()
        } catch {
            throw .unreadable(path: path, reason: "\(error)")
        }
        let sink = try FileSink(path: catalogue.path(entry.id + temporarySuffix), disk: catalogue.disk)
        defer { sink.finish() }
        guard bytes.withUnsafeBytes({ sink.write($0) }) else { throw sink.failure ?? .diskFull(path: path) }
        // What is not complete is cut off at the end.
        try sink.complete()
        try catalogue.rename(entry.id + temporarySuffix, to: name)
        return catalogue.path(name)
    }

    private static func picture(of path: String) throws(CodecError) -> Picture {
        let reader = try MediaFileReader(path: path, decode: true)
        let time = reader.duration.map { $0 / part } ?? .zero
        // This leads to the keyframe before.
        try? reader.seek(to: time)
        var found: Picture?
        for _ in 0..<mostFrames {
            guard let sample = try reader.next() else { break }
            guard case .picture(let picture, let timestamp) = sample else { continue }
            found = picture
            if timestamp >= Int64(time.inSeconds * 90_000) { break }
        }
        guard let found else { throw .unsupportedInput("a file without a picture") }
        return scaled(found)
    }

    private static func scaled(_ picture: Picture) -> Picture {
        let height = min(max(2, picture.height * width / max(picture.width, 1)) & ~1, maxHeight)
        let across = min(width, max(2, picture.width * height / max(picture.height, 1)) & ~1)
        let small = Picture(width: across, height: height)
        Scaler.scale(from: picture, into: small, x: 0, y: 0, width: across, height: height)
        return small
    }
}
