import Basics
package import FoundationEssentials
import Glibc

/// The recordings of one directory, each with a JSON sidecar file.
///
/// Queries are answered from memory. Methods that write a sidecar wait for the disk, so no thread that others wait for
/// may call them.
package final class RecordingCatalogue: Sendable {
    package let directory: String
    let disk: RecordingDisk
    private let capacity: Int
    /// Whether new recordings are to be delivered.
    private let delivers: Bool
    /// What the ids of new recordings begin with.
    private let idPrefix: String
    private let state: Guarded<State>
    /// The ids of the recordings that a crash left open, the oldest first.
    let leftOpen: [String]

    private struct State {
        var entries: [String: RecordingEntry] = [:]
        /// In the order of their numbers, the oldest first.
        var ids: [String] = []
        /// The number of the newest recording.
        var number = 0
    }

    /// The most recordings in a catalogue; each takes about half a KiB of memory.
    package static let defaultCapacity = 50_000
    /// Only the server's user and group may read the directory.
    private static let directoryMode: mode_t = 0o750

    /// Creates the directory when it is missing, and reads its recordings. Those that a crash left open get the state
    /// `repairing`.
    ///
    /// - Parameters:
    ///   - capacity: the most recordings that are read: the newest ones, by their names.
    ///   - delivers: whether recordings that begin from now on are to be delivered.
    ///   - node: the node of a cluster that the recordings belong to: new ids begin with it. Empty: there is none.
    package init(
        directory: String, capacity: Int = defaultCapacity, disk: RecordingDisk = .system, delivers: Bool = false,
        node: String = ""
    ) throws(RecordingError) {
        self.directory = directory
        self.disk = disk
        self.capacity = capacity
        self.delivers = delivers
        idPrefix = node.isEmpty ? "" : node + "-"
        try Self.makeDirectory(directory)
        let names = Self.names(in: directory)
        for name in names
        where name.hasSuffix(MP4Closing.closingSuffix) || name.hasSuffix(Sidecar.suffix + Sidecar.temporarySuffix)
            || name.hasSuffix(TimelineFiles.textSuffix + Sidecar.temporarySuffix)
            || name.hasSuffix(PendingDelivery.suffix + Sidecar.temporarySuffix)
            || name.hasSuffix(RecordingThumbnail.temporarySuffix)
        {
            // A sidecar that was being written at a crash; the complete one is still there.
            unlink(directory + "/" + name)
        }
        var found = names.filter {
            $0.hasSuffix(Sidecar.suffix) && !$0.hasSuffix(TimelineFiles.jsonSuffix)
        }.suffix(capacity).compactMap {
            name -> RecordingEntry? in
            let entry = Sidecar.read(directory + "/" + name)
            return entry.map { $0.id + Sidecar.suffix == name && !$0.file.contains("/") } ?? false ? entry : nil
        }
        found.sort { ($0.number ?? 0, $0.startedAt, $0.id) < ($1.number ?? 0, $1.startedAt, $1.id) }
        var state = State(number: found.compactMap(\.number).max() ?? 0)
        var leftOpen: [String] = []
        let pending = Set(names.filter { $0.hasSuffix(PendingDelivery.suffix) })
        for var entry in found {
            PendingDelivery.read(into: &entry, from: directory, pending)
            if entry.state == .recording || entry.state == .paused || entry.state == .repairing {
                entry.state = .repairing
                leftOpen.append(entry.id)
            }
            state.entries[entry.id] = entry
            state.ids.append(entry.id)
        }
        self.state = Guarded(state)
        self.leftOpen = leftOpen
    }

    private static func makeDirectory(_ path: String) throws(RecordingError) {
        var status = stat()
        if stat(path, &status) == 0 {
            guard status.st_mode & S_IFMT == S_IFDIR else {
                throw .notWritable(path: path, reason: "it is not a directory")
            }
            return
        }
        try? FileManager.default.createDirectory(
            atPath: WholeFile.folder(of: path), withIntermediateDirectories: true)
        guard mkdir(path, directoryMode) == 0 || errno == EEXIST else {
            throw .notWritable(path: path, reason: String(cString: strerror(errno)))
        }
        chmod(path, directoryMode)
    }

    private static func names(in directory: String) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []).sorted()
    }

    // MARK: - Queries

    /// Lists recordings, the newest first; with `id` only those before it. The order is that in which they began, even
    /// where the clock was set back.
    package func list(before id: String? = nil, limit: Int = .max) -> [RecordingEntry] {
        state.withLock { state in
            var ids = state.ids[...]
            if let id { ids = ids.prefix(upTo: ids.lastIndex(of: id) ?? ids.startIndex) }
            return ids.suffix(max(0, limit)).reversed().compactMap { state.entries[$0] }
        }
    }

    package var count: Int { state.withLock { $0.ids.count } }
    package func entry(_ id: String) -> RecordingEntry? { state.withLock { $0.entries[id] } }

    /// The path of a recording's first part.
    package func path(of entry: RecordingEntry) -> String { path(entry.file) }

    /// The path of a recording's timeline as JSON, or as WebVTT; there may be no such file.
    package func timelinePath(of id: String, asText: Bool) -> String {
        path(id + (asText ? TimelineFiles.textSuffix : TimelineFiles.jsonSuffix))
    }

    /// The path of a part, counted from 1; nil where the recording has no such part.
    package func path(of entry: RecordingEntry, part: Int) -> String? {
        if part == 1 { return path(of: entry) }
        // A sidecar may have been written by somebody else: its names must not lead out of the directory.
        guard entry.files.indices.contains(part - 1), !entry.files[part - 1].contains("/") else { return nil }
        return path(entry.files[part - 1])
    }

    // MARK: - Changes

    /// The path of a track's file, counted from 1; nil where the recording has no such track.
    package func path(of entry: RecordingEntry, track: Int) -> String? {
        let tracks = entry.tracks ?? []
        guard tracks.indices.contains(track - 1), !tracks[track - 1].file.contains("/") else { return nil }
        return path(tracks[track - 1].file)
    }

    /// Adds an entry with the id and file name of a new recording; the caller then creates the file. May wait for the
    /// disk.
    ///
    /// - Parameters:
    ///   - group: the breakout group that it is of; nil: the room itself.
    ///   - view: the view whose picture it takes.
    package func begin(
        room: String, group: RecordedGroup? = nil, view: String? = nil, content: RecordingContent = RecordingContent(),
        continuing series: RecordingSeries? = nil, at now: Date = Date()
    ) throws(RecordingError) -> RecordingEntry {
        try begin(room: room, group: group, view: view, content: content, continuing: series, at: now) {
            .random(in: 0x1000...0xFFFF)
        }
    }

    /// - Parameter mark: returns a random end of the id.
    func begin(
        room: String, group: RecordedGroup? = nil, view: String? = nil, content: RecordingContent = RecordingContent(),
        continuing series: RecordingSeries? = nil, at now: Date, mark: () -> UInt16
    ) throws(RecordingError) -> RecordingEntry {
        let entry = try add {
            idPrefix + RecordingEntry.id(room: room, group: group?.name, at: now, mark: mark())
        } make: { id in
            let file = id + content.suffix
            var entry = RecordingEntry(
                id: id, room: room, file: file, files: [file], state: .recording, startedAt: now, wasRecovered: false)
            entry.began = RecordingEntry.seconds(now)
            entry.view = content.audioOnly ? nil : view
            entry.audioOnly = content.audioOnly ? true : nil
            entry.group = group
            entry.series = series?.id
            entry.seriesPart = series?.part
            entry.delivery = delivers ? RecordingDelivery() : nil
            return entry
        }
        do throws(RecordingError) {
            // First, so that no crash leaves a recording that nothing delivers.
            if let delivery = entry.delivery { try PendingDelivery.write(delivery, of: entry.id, self) }
            try write(entry)
        } catch {
            remove(entry.id)
            throw error
        }
        return entry
    }

    /// Adds an entry with an id that no other entry and no file has, even if the clock was set back.
    private func add(id makeID: () -> String, make: (String) -> RecordingEntry) throws(RecordingError) -> RecordingEntry
    {
        while true {
            let id = makeID()
            if (RecordingFile.suffixes + [Sidecar.suffix]).contains(where: { exists(id + $0) }) { continue }
            let made = try state.withLock { state throws(RecordingError) -> RecordingEntry? in
                if state.ids.count >= capacity { throw .tooMany(directory: directory, count: state.ids.count) }
                if state.entries[id] != nil { return nil }
                return Self.append(make(id), to: &state)
            }
            if let made { return made }
        }
    }

    private static func append(_ entry: RecordingEntry, to state: inout State) -> RecordingEntry {
        var entry = entry
        state.number += 1
        entry.number = state.number
        state.entries[entry.id] = entry
        state.ids.append(entry.id)
        return entry
    }

    func write(_ entry: RecordingEntry) throws(RecordingError) {
        try Sidecar.write(entry, to: path(entry.id + Sidecar.suffix), disk)
    }

    /// Stores a changed entry in memory, and in the sidecar if the disk accepts it: the next start reads the files
    /// again.
    package func update(_ entry: RecordingEntry) throws(RecordingError) {
        remember(entry)
        try write(entry)
    }

    /// Stores what is known of a recording that runs, such as its complete parts, so that it is known after a crash. May
    /// wait for the disk.
    package func note(_ id: String, _ body: (inout RecordingEntry) -> Void) throws(RecordingError) {
        guard var entry = entry(id), entry.state == .recording else { return }
        body(&entry)
        try update(entry)
    }

    /// Stores how a recording ended. A recording without media is removed completely. May wait for the disk.
    ///
    /// - Parameters:
    ///   - end: what ended it.
    ///   - date: when its last frame was taken.
    /// - Returns: the entry; nil where it was removed.
    @discardableResult
    package func finish(
        _ id: String, _ result: Result<RecordingSummary, RecordingError>, by end: RecordingEnd? = nil,
        at date: Date? = nil
    ) throws(RecordingError) -> RecordingEntry? {
        guard var entry = entry(id) else { throw .unknown(id: id) }
        entry.ended = date.map { RecordingEntry.seconds($0) }
        entry.endedBy = end
        switch result {
        case .success(let summary):
            entry.state = summary.failure.map(\.isOrderlyEnd) ?? true ? .finished : .failed
            entry.files = summary.files.map { $0.split(separator: "/").last.map(String.init) ?? $0 }
            entry.file = entry.files.first ?? entry.file
            entry.parts = summary.parts
            entry.duration = summary.duration.roundedSeconds
            entry.bytes = summary.bytes
            entry.frames = summary.frames
            entry.dropped = summary.dropped.isEmpty ? nil : summary.dropped
            entry.tracks = summary.participantTracks.isEmpty ? nil : summary.participantTracks
            entry.message = summary.failure?.publicDescription
        case .failure(.gone(let path)):
            entry.state = .failed
            entry.message = RecordingError.gone(path: path).publicDescription
        case .failure(let error):
            guard exists(entry.file) else {
                remove(id)
                return nil
            }
            entry.state = .failed
            entry.message = error.publicDescription
        }
        try update(entry)
        return entry
    }

    /// Removes the entry of a recording that never began; its files are not touched.
    package func remove(_ id: String) {
        unlink(path(id + Sidecar.suffix))
        unlink(path(id + TimelineLog.suffix))
        unlink(path(id + PendingDelivery.suffix))
        forget(id)
    }

    func forget(_ id: String) {
        state.withLock { state in
            state.entries[id] = nil
            if let index = state.ids.lastIndex(of: id) { state.ids.remove(at: index) }
        }
    }

    /// Stores the title that somebody gave a recording; nil: none. May wait for the disk.
    ///
    /// - Returns: the changed entry; nil where there is none.
    package func setTitle(_ title: String?, of id: String) throws(RecordingError) -> RecordingEntry? {
        let entry = state.withLock { state in
            state.entries[id]?.title = title
            return state.entries[id]
        }
        if let entry { try write(entry) }
        return entry
    }

    // MARK: - For repairs

    /// Whether a file of this name, without its suffix, belongs to a recording in the catalogue.
    func isKnown(_ base: String) -> Bool {
        state.withLock { state in
            if state.entries[base] != nil { return true }
            // The recorder numbers the parts from 2 on: `name-2`.
            guard let dash = base.lastIndex(of: "-"), Int(base[base.index(after: dash)...]) != nil else { return false }
            return state.entries[String(base[..<dash])] != nil
        }
    }

    /// Adds an entry for a file without one; nil where an entry has its id, or where the catalogue is full.
    func adopt(_ entry: RecordingEntry) -> RecordingEntry? {
        state.withLock { state in
            state.entries[entry.id] == nil && state.ids.count < capacity ? Self.append(entry, to: &state) : nil
        }
    }

    /// Changes the entry in memory only, for as long as this process runs.
    func remember(_ entry: RecordingEntry) {
        state.withLock { if $0.entries[entry.id] != nil { $0.entries[entry.id] = entry } }
    }

    /// Changes what is known of a recording's delivery in memory, and returns the changed entry.
    func rememberDelivery(_ delivery: RecordingDelivery, of id: String) -> RecordingEntry? {
        state.withLock { state in
            state.entries[id]?.delivery = delivery
            return state.entries[id]
        }
    }

    func rename(_ name: String, to other: String) throws(RecordingError) {
        guard Glibc.rename(path(name), path(other)) == 0 else {
            let code = errno
            unlink(path(name))
            throw .system(code, path: path(other))
        }
    }

    func path(_ name: String) -> String { directory + "/" + name }
    func exists(_ name: String) -> Bool { access(path(name), F_OK) == 0 }
    func names(ending suffix: String) -> [String] { Self.names(in: directory).filter { $0.hasSuffix(suffix) } }
}
