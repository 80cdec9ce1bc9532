/// The names of a recording's files: `<id>.mp4` or `<id>.m4a`, `<id>-2.mp4` …, and `<id>.track-1.webm` … beside them.
package enum RecordingFile {
    static let videoSuffix = ".mp4"
    static let audioSuffix = ".m4a"
    static let suffixes = [videoSuffix, audioSuffix]

    /// The media type of a file, by its name.
    package static func mediaType(_ name: String) -> String {
        if name.hasSuffix(audioSuffix) { return "audio/mp4" }
        if name.hasSuffix(".webm") { return "video/webm" }
        return name.hasSuffix(".mkv") ? "video/x-matroska" : "video/mp4"
    }

    /// The name without the suffix of a recording's file; nil where it has none of them.
    static func base(_ name: String) -> String? {
        suffixes.contains { name.hasSuffix($0) } ? String(name.dropLast(4)) : nil
    }

    /// The name of a part, from 1 on, of the recording with this first file.
    static func part(_ number: Int, of first: String) -> String {
        guard number > 1, let base = base(first) else { return first }
        return "\(base)-\(number)\(first.suffix(4))"
    }

    private static let trackMark = ".track-"

    /// - Parameter number: unique in the recording.
    static func track(_ number: Int, base: String, codec: String) -> String {
        base + trackMark + String(number) + (codec == "h264" ? ".mkv" : ".webm")
    }

    /// Whether the name is that of a track of the recording with this id.
    static func isTrack(_ name: String, of id: String) -> Bool {
        name.hasPrefix(id + trackMark) && (name.hasSuffix(".mkv") || name.hasSuffix(".webm"))
    }
}
