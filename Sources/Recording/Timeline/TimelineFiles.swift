import FoundationEssentials

/// The files of a recording's timeline beside it: `<id>.timeline.json` and `<id>.vtt`.
enum TimelineFiles {
    static let jsonSuffix = ".timeline.json"
    static let textSuffix = ".vtt"

    /// Writes both, to the disk's end: a full disk leaves none or one.
    static func write(_ timeline: RecordingTimeline, base: String, _ disk: RecordingDisk) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        guard let json = try? encoder.encode(timeline) else { return }
        try? FileSink.replace(base + jsonSuffix, with: Array(json), disk)
        try? FileSink.replace(base + textSuffix, with: Array(timeline.webVTT.utf8), disk)
    }

    static func read(base: String) -> RecordingTimeline? {
        guard let bytes = SystemFile.read(path: base + jsonSuffix, upTo: maxSize) else { return nil }
        return try? JSONDecoder().decode(RecordingTimeline.self, from: Data(bytes))
    }

    private static let maxSize = 64 << 20
}
