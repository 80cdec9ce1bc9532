import FoundationEssentials
import Glibc

/// The files of a recording's timeline beside it: `<id>.timeline.json` and `<id>.vtt`.
enum TimelineFiles {
    static let jsonSuffix = ".timeline.json"
    static let textSuffix = ".vtt"

    /// Writes both, to the disk's end: a full disk leaves none or one.
    static func write(_ timeline: RecordingTimeline, base: String, _ disk: RecordingDisk) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        guard let json = try? encoder.encode(timeline) else { return }
        try? replace(base + jsonSuffix, with: Array(json), disk)
        try? replace(base + textSuffix, with: Array(timeline.webVTT.utf8), disk)
    }

    static func read(base: String) -> RecordingTimeline? {
        let descriptor = open(base + jsonSuffix, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        let size = SystemFile.size(descriptor)
        guard size <= maxSize, let bytes = SystemFile.read(descriptor, size, at: 0) else { return nil }
        return try? JSONDecoder().decode(RecordingTimeline.self, from: Data(bytes))
    }

    private static let maxSize = 64 << 20

    private static func replace(_ path: String, with bytes: [UInt8], _ disk: RecordingDisk) throws(RecordingError) {
        let temporary = path + Self.temporarySuffix
        unlink(temporary)
        do throws(RecordingError) {
            let sink = try FileSink(path: temporary, disk: disk)
            guard bytes.withUnsafeBytes({ sink.write($0) }) else { throw sink.failure ?? .diskFull(path: path) }
            try sink.secure()
            sink.finish()
        } catch {
            unlink(temporary)
            throw error
        }
        if rename(temporary, path) != 0 { unlink(temporary) }
    }

    /// As that of a sidecar, so that the catalogue removes what a crash left.
    static let temporarySuffix = ".new"
}
