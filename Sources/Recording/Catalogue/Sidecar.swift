import Basics
import FoundationEssentials

/// Reads and writes the JSON file beside a recording, which holds its `RecordingEntry`.
enum Sidecar {
    static let suffix = ".json"
    /// The largest sidecar in bytes; that of a recording of a hundred thousand parts is smaller.
    private static let maxSize = 16 << 20

    static func read(_ path: String) -> RecordingEntry? { read(RecordingEntry.self, path) }

    /// Reads a file that `write` wrote.
    static func read<Value: Decodable>(_ type: Value.Type, _ path: String) -> Value? {
        guard let bytes = SystemFile.read(path: path, upTo: maxSize) else { return nil }
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        return try? decoder.decode(type, from: Data(bytes))
    }

    /// Replaces the file atomically: readers see the old or the new one, and a full disk leaves the old one.
    static func write(_ value: some Encodable, to path: String, _ disk: RecordingDisk) throws(RecordingError) {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        guard let data = try? encoder.encode(value) else {
            throw .writeFailed(path: path, reason: "it cannot be encoded as JSON")
        }
        try FileSink.replace(path, with: Array(data), disk)
    }

    static let temporarySuffix = WholeFile.unfinished
}
