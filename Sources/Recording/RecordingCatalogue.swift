import Basics
import Foundation
import Synchronization

/// A recording as the catalogue knows it, and as its sidecar file (`<id>.json`) holds it.
public struct RecordingEntry: Codable, Hashable, Sendable {
    public enum State: String, Codable, Sendable { case recording, paused, finished, failed }

    /// Fit for a URL and a file name.
    public var id: String
    public var room: String
    /// The first part's name in the catalogue's directory.
    public var file: String
    /// All parts' names.
    public var files: [String]
    public var state: State
    /// Wall clock time.
    public var startedAt: Date
    /// In seconds; nil while it runs.
    public var duration: Double?
    public var bytes: Int?
    /// A crash left it open and a later start closed it.
    public var wasRecovered: Bool
    /// Why it ended early, in a sentence.
    public var message: String?
}

/// The recordings of one directory, each with a small JSON file beside it; what a crash left open is closed by `recover`.
public final class RecordingCatalogue: Sendable {
    public let directory: String
    private let entries = Mutex<[String: RecordingEntry]>([:])

    /// Makes the directory when it is missing, and reads what is there.
    public init(directory: String) throws(RecordingError) {
        self.directory = directory
        do {
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        } catch {
            throw .notWritable(path: directory, reason: error.localizedDescription)
        }
        for name in names(ending: ".json") {
            guard let data = FileManager.default.contents(atPath: directory + "/" + name),
                let entry = try? Self.decoder.decode(RecordingEntry.self, from: data), entry.id + ".json" == name
            else { continue }
            entries.withLock { $0[entry.id] = entry }
        }
    }

    /// All recordings, the newest first.
    public func list() -> [RecordingEntry] {
        entries.withLock { Array($0.values) }.sorted { ($0.startedAt, $0.id) > ($1.startedAt, $1.id) }
    }

    public func entry(_ id: String) -> RecordingEntry? { entries.withLock { $0[id] } }

    /// Where a recording's first part lies.
    public func path(of entry: RecordingEntry) -> String { directory + "/" + entry.file }

    /// A new recording's id and file name; the caller then makes the file.
    public func begin(room: String, at now: Date = Date()) throws(RecordingError) -> RecordingEntry {
        let id = Self.id(room: room, at: now)
        let entry = RecordingEntry(
            id: id, room: room, file: id + ".mp4", files: [id + ".mp4"], state: .recording, startedAt: now,
            wasRecovered: false)
        try update(entry)
        return entry
    }

    /// Remembers a changed entry, also on the disk.
    public func update(_ entry: RecordingEntry) throws(RecordingError) {
        let path = directory + "/" + entry.id + ".json"
        do {
            try Self.encoder.encode(entry).write(to: URL(fileURLWithPath: path), options: .atomic)
        } catch {
            throw .notWritable(path: path, reason: error.localizedDescription)
        }
        entries.withLock { $0[entry.id] = entry }
    }

    /// Remembers how a recording ended.
    @discardableResult
    public func finish(
        _ id: String, _ result: Result<RecordingSummary, RecordingError>
    ) throws(RecordingError) -> RecordingEntry {
        guard var entry = entry(id) else { throw .unknown(id: id) }
        switch result {
        case .success(let summary):
            entry.state = .finished
            entry.files = summary.files.map { ($0 as NSString).lastPathComponent }
            entry.file = entry.files.first ?? entry.file
            entry.duration = summary.duration.inSeconds
            entry.bytes = summary.bytes
            entry.message = summary.failure.map { "\($0)" }
        case .failure(let error):
            entry.state = .failed
            entry.message = "\(error)"
        }
        // True whether or not the disk, which may be full, takes the sidecar; the next start looks at the files again.
        entries.withLock { [entry] in $0[id] = entry }
        try update(entry)
        return entry
    }

    /// Forgets a recording that never began; its files are not touched.
    public func remove(_ id: String) {
        try? FileManager.default.removeItem(atPath: directory + "/" + id + ".json")
        entries.withLock { _ = $0.removeValue(forKey: id) }
    }

    /// Closes what a crash left open; call it once at the start, before any recording. Gives what was closed or given up.
    ///
    /// MP4 files without a sidecar are closed too when they are fragments, and get an entry.
    @discardableResult
    public func recover() -> [RecordingEntry] {
        for name in names(ending: MP4Closing.closingSuffix) {
            // A closing that did not come to its end; the fragments are still there.
            try? FileManager.default.removeItem(atPath: directory + "/" + name)
        }
        var open = list().filter { $0.state == .recording || $0.state == .paused }
        let known = list().map(\.id)
        for name in names(ending: ".mp4") {
            let base = String(name.dropLast(4))
            guard !known.contains(where: { base == $0 || base.hasPrefix($0 + "-") }), !isClosed(name) else { continue }
            open.append(
                RecordingEntry(
                    id: Self.slug(base), room: "", file: name, files: [name], state: .recording,
                    startedAt: modificationDate(name), wasRecovered: true))
        }
        return open.map(close)
    }

    private func close(_ open: RecordingEntry) -> RecordingEntry {
        var entry = open
        let base = String(entry.file.dropLast(4))
        // The recorder numbers parts from 2 on.
        let parts = [entry.file] + (2..<100_000).lazy.map { "\(base)-\($0).mp4" }.prefix { self.exists($0) }
        entry.wasRecovered = true
        entry.state = .finished
        entry.files = []
        entry.message = nil
        var duration = 0.0
        var bytes = 0
        for name in parts {
            do throws(RecordingError) {
                let path = directory + "/" + name
                if !isClosed(name) { try RecordingRepair.repair(file: path, output: path) }
                let report = try RecordingRepair.check(file: path)
                duration += report.duration.inSeconds
                bytes += report.bytes
                entry.files.append(name)
            } catch {
                entry.message = "\(error)"
            }
        }
        if entry.files.isEmpty { entry.state = .failed }
        entry.duration = duration
        entry.bytes = bytes
        do throws(RecordingError) { try update(entry) } catch { entry.message = "\(error)" }
        return entry
    }

    private func names(ending suffix: String) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []).filter { $0.hasSuffix(suffix) }.sorted()
    }

    private func exists(_ name: String) -> Bool { FileManager.default.fileExists(atPath: directory + "/" + name) }

    private func isClosed(_ name: String) -> Bool {
        let path = directory + "/" + name
        let size = (try? FileManager.default.attributesOfItem(atPath: path)[.size] as? NSNumber)?.intValue ?? 0
        return RecordingRepair.isClosed(path, size: size)
    }

    private func modificationDate(_ name: String) -> Date {
        (try? FileManager.default.attributesOfItem(atPath: directory + "/" + name)[.modificationDate] as? Date) ?? Date()
    }

    /// e.g. `20260704-153012-kitchen-3f9a`: sorts by time, says the room, and is unique.
    private static func id(room: String, at now: Date) -> String {
        let parts = Calendar(identifier: .gregorian).dateComponents(in: .gmt, from: now)
        func digits(_ value: Int?, _ count: Int) -> String {
            let text = String(value ?? 0)
            return String(repeating: "0", count: max(count - text.count, 0)) + text
        }
        let day = digits(parts.year, 4) + digits(parts.month, 2) + digits(parts.day, 2)
        let time = digits(parts.hour, 2) + digits(parts.minute, 2) + digits(parts.second, 2)
        let mark = String(UInt16.random(in: 0x1000...0xFFFF), radix: 16)
        return "\(day)-\(time)-\(slug(room))-\(mark)"
    }

    /// Letters, digits, `-` and `_` of a name; everything else becomes `-`, so that no name leaves the directory.
    private static func slug(_ text: String) -> String {
        let safe = text.unicodeScalars.prefix(40).map { scalar -> Character in
            let isSafe = scalar.isASCII && (scalar.properties.isAlphabetic || ("0"..."9").contains(scalar) || scalar == "_")
            return isSafe ? Character(scalar) : "-"
        }
        return safe.isEmpty ? "room" : String(safe)
    }

    private static var encoder: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        return encoder
    }

    private static var decoder: JSONDecoder {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        return decoder
    }
}
