import Foundation

/// The small file beside a recording that says what it is.
enum Sidecar {
    static let suffix = ".json"

    static func read(_ path: String) -> RecordingEntry? {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        return FileManager.default.contents(atPath: path).flatMap { try? decoder.decode(RecordingEntry.self, from: $0) }
    }

    /// Replaces the file as a whole: readers see the old or the new one, and a full disk leaves the old one.
    static func write(_ entry: RecordingEntry, to path: String, _ disk: RecordingDisk) throws(RecordingError) {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        guard let data = try? encoder.encode(entry) else { throw .writeFailed(path: path, reason: "it has no text") }
        let temporary = path + temporarySuffix
        unlink(temporary)
        do throws(RecordingError) {
            // Also closes where a write throws.
            let sink = try FileSink(path: temporary, disk: disk)
            guard data.withUnsafeBytes({ sink.write($0) }) else { throw sink.failure ?? .diskFull(path: path) }
            try sink.secure()
            sink.finish()
        } catch {
            unlink(temporary)
            throw error
        }
        guard rename(temporary, path) == 0 else {
            let code = errno
            unlink(temporary)
            throw .system(code, path: path)
        }
    }

    static let temporarySuffix = ".new"
}
