package import Foundation

/// The program that delivers recordings, with placeholders in its arguments.
///
/// No shell reads the arguments: whatever a name has in it stays within its argument.
package struct DeliveryCommand: Hashable, Sendable {
    /// The program and its arguments.
    package var words: [String]

    /// The longest `TESSERA_FILES` in bytes: the kernel allows an entry of the environment 128 KiB (`MAX_ARG_STRLEN`).
    static let longestList = 120 << 10

    package init(_ words: [String]) { self.words = words }

    /// Why the arguments cannot be used; nil if they can.
    package static func fault(of words: [String]) -> String? {
        guard let program = words.first else { return nil }
        if program.isEmpty || program.contains("{") { return "the program comes first, without placeholders" }
        for word in words where word != "{files}" && word.contains("{files}") {
            return "{files} stands for several arguments, so it must be one by itself"
        }
        return nil
    }

    /// The arguments for a recording.
    package func arguments(for job: DeliveryJob) -> [String] {
        words.flatMap { word -> [String] in
            if word == "{files}" { return job.files }
            return [Self.fill(word, ["{file}": job.file, "{id}": job.id, "{room}": job.room])]
        }
    }

    /// Replaces placeholders from left to right, so that one within a value stays as it is.
    private static func fill(_ word: String, _ values: [String: String]) -> String {
        var result = ""
        var rest = word[...]
        while let open = rest.firstIndex(of: "{") {
            result += rest[..<open]
            rest = rest[open...]
            if let (name, value) = values.first(where: { rest.hasPrefix($0.key) }) {
                // Guests choose the names of rooms: none may look like an option.
                result += result.isEmpty && value.hasPrefix("-") ? "_" + value.dropFirst() : value
                rest = rest.dropFirst(name.count)
            } else {
                result.append(rest.removeFirst())
            }
        }
        return result + rest
    }

    /// The environment for a recording: that of the server without the server's own settings, which have secrets among
    /// them, and with the recording's.
    package static func environment(for job: DeliveryJob, from server: [String: String]) -> [String: String] {
        var environment = server.filter { !$0.key.hasPrefix("TESSERA") }
        environment["TESSERA_ID"] = job.id
        environment["TESSERA_ROOM"] = job.room
        environment["TESSERA_FILE"] = job.file
        let files = job.files.joined(separator: "\n")
        if files.utf8.count <= longestList { environment["TESSERA_FILES"] = files }
        environment["TESSERA_DURATION"] = String(format: "%.3f", job.duration)
        environment["TESSERA_BYTES"] = String(job.bytes)
        environment["TESSERA_STARTED"] = job.startedAt.formatted(.iso8601)
        return environment
    }
}

/// A recording as its delivery gets it; its JSON is the program's standard input.
package struct DeliveryJob: Hashable, Sendable, Encodable {
    package var id: String
    package var room: String
    /// The path of the first part.
    package var file: String
    /// The paths of all files: parts, timeline.
    package var files: [String]
    package var parts: [RecordingPart]
    package var startedAt: Date
    /// In seconds.
    package var duration: Double
    package var bytes: Int
    /// `finished` or `failed`.
    package var state: RecordingEntry.State
    /// Whether a crash left the recording open.
    package var repaired: Bool
    /// Why the recording ended early.
    package var error: String?

    /// - Parameters:
    ///   - file: an absolute path, since the program may change its directory.
    ///   - files: absolute paths too.
    package init(_ entry: RecordingEntry, file: String, files: [String]) {
        id = entry.id
        // A file that was found without its sidecar.
        room = entry.room.isEmpty ? "unknown" : entry.room
        self.file = file
        self.files = files
        parts = entry.parts ?? []
        startedAt = entry.startedAt
        duration = entry.duration ?? 0
        bytes = entry.bytes ?? 0
        state = entry.state
        repaired = entry.wasRecovered
        error = entry.message
    }

    package var json: [UInt8] {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return ((try? encoder.encode(self)).map { [UInt8]($0) } ?? []) + [0x0A]
    }
}
