import Basics
import FoundationEssentials
import Glibc

/// Closes the recordings that a crash left open in a catalogue's directory, one file after the other, while new
/// recordings begin and others are read.
///
/// Fragmented MP4 files without a sidecar are closed too, and get an entry.
package final class RecordingRepairs: Sendable {
    private let catalogue: RecordingCatalogue
    private let waitingIDs: Guarded<[Open]>

    private struct Open {
        var id: String
        /// The state after the repair: `finished` after a crash, `failed` after a full disk.
        var after = RecordingEntry.State.finished
    }

    package init(_ catalogue: RecordingCatalogue) {
        self.catalogue = catalogue
        waitingIDs = Guarded(catalogue.leftOpen.map { Open(id: $0) })
    }

    /// How many recordings are still to be closed, including the current one.
    package var waiting: Int { waitingIDs.withLock { $0.count } }

    /// Their ids. A recording is among them until its sidecar is written.
    package var waitingRecordings: Set<String> { waitingIDs.withLock { Set($0.map(\.id)) } }

    /// Closes all open recordings. To be called once, on a thread of low priority.
    ///
    /// - Parameters:
    ///   - shouldGoOn: called before each file; after false the rest waits for the next start.
    ///   - onFound: called once all that is open has the state `repairing`.
    ///   - onClosed: called with each closed recording and the number of those that still wait.
    package func run(
        reserve: DiskReserve? = nil, while shouldGoOn: () -> Bool = { true }, onFound: () -> Void = {},
        onClosed: (RecordingEntry, _ left: Int) -> Void = { _, _ in }
    ) {
        findStrays()
        onFound()
        while shouldGoOn(), let next = waitingIDs.withLock({ $0.first }) {
            let closed = catalogue.entry(next.id).map { close($0, next.after, reserve) }
            let left = waitingIDs.withLock { waiting in
                waiting.removeFirst()
                return waiting.count
            }
            if let closed { onClosed(closed, left) }
        }
    }

    /// Adds files without a sidecar, and those that could not be closed at their end because the disk was full.
    private func findStrays() {
        // The files are listed first: a recording that begins from here on has its entry before its file, so it is
        // not taken for a stray file.
        for name in RecordingFile.suffixes.flatMap({ catalogue.names(ending: $0) }) {
            guard let base = RecordingFile.base(name) else { continue }
            if catalogue.isKnown(base) || RecordingRepair.isClosed(catalogue.path(name)) { continue }
            var found = RecordingEntry(
                id: RecordingEntry.slug(base), room: "", file: name, files: [name], state: .repairing,
                startedAt: modificationDate(name),
                wasRecovered: true)
            found.audioOnly = name.hasSuffix(RecordingFile.audioSuffix) ? true : nil
            if let entry = catalogue.adopt(found) { waitingIDs.withLock { $0.append(Open(id: entry.id)) } }
        }
        for var entry in catalogue.list() where entry.state == .finished || entry.state == .failed {
            let isOpen = entry.files.contains { catalogue.exists($0) && !RecordingRepair.isClosed(catalogue.path($0)) }
            if !isOpen { continue }
            waitingIDs.withLock { [entry] in $0.append(Open(id: entry.id, after: entry.state)) }
            entry.state = .repairing
            catalogue.remember(entry)
        }
    }

    private func close(_ open: RecordingEntry, _ after: RecordingEntry.State, _ reserve: DiskReserve?) -> RecordingEntry
    {
        var entry = open
        let base = RecordingFile.base(entry.file) ?? entry.id
        let parts =
            [entry.file]
            + (2..<100_000).lazy.map { RecordingFile.part($0, of: entry.file) }.prefix { self.catalogue.exists($0) }
        entry.wasRecovered = true
        // One that was closed, on a full disk, has an end already.
        if entry.endedBy == nil {
            let last = parts.last { catalogue.exists($0) } ?? entry.file
            (entry.endedBy, entry.ended) = (.lost, RecordingEntry.seconds(modificationDate(last)))
        }
        entry.state = after
        entry.files = []
        entry.parts = []
        var duration = 0.0
        var bytes = 0
        // The timeline as far as it was written before the crash.
        let events = TimelineLog.read(catalogue.path(base + TimelineLog.suffix))
        let chapters = events.isEmpty ? [] : RecordingChapter.chapters(of: events, duration: .infinity)
        for name in parts {
            do throws(RecordingError) {
                let path = catalogue.path(name)
                let report =
                    try RecordingRepair.isClosed(path)
                    ? RecordingRepair.check(file: path)
                    : MP4Closing.close(
                        path, reserve: reserve, chapters: RecordingChapter.part(of: chapters, from: duration))
                duration += report.duration.inSeconds
                bytes += report.bytes
                entry.files.append(name)
                entry.parts?.append(report.part)
            } catch .inUse {
                // Another process writes it, a server that is ending or a repair by hand, and sets its final state.
                return open
            } catch {
                entry.message = error.publicDescription
            }
        }
        if entry.files.isEmpty {
            guard parts.contains(where: { catalogue.exists($0) && size($0) > 0 }) else {
                // The crash came before the first fragment.
                for name in parts + (entry.tracks ?? []).map(\.file) where !name.contains("/") {
                    unlink(catalogue.path(name))
                }
                catalogue.remove(entry.id)
                entry.state = .failed
                return entry
            }
            entry.state = .failed
            entry.files = parts.filter { catalogue.exists($0) }
        }
        if !events.isEmpty {
            TimelineFiles.write(
                RecordingTimeline(events, duration: duration), base: catalogue.path(base), catalogue.disk)
            unlink(catalogue.path(base + TimelineLog.suffix))
        }
        entry.duration = duration.toMilliseconds
        entry.bytes = bytes
        let tracks = (entry.tracks ?? []).compactMap { close($0, reserve) }
        entry.tracks = tracks.isEmpty ? nil : tracks
        do throws(RecordingError) { try catalogue.update(entry) } catch { entry.message = error.publicDescription }
        return entry
    }

    /// Completes a file that a crash left without its length; nil where there is none, or nothing in it.
    private func close(_ open: RecordingTrack, _ reserve: DiskReserve?) -> RecordingTrack? {
        guard !open.file.contains("/"), catalogue.exists(open.file) else { return nil }
        if open.duration != nil { return open }
        var track = open
        let path = catalogue.path(track.file)
        do throws(RecordingError) {
            track.duration = try TrackClosing.close(path, reserve: reserve).roundedSeconds
        } catch .nothingRecorded {
            unlink(path)
            return nil
        } catch {
            // Whatever can be read of it stays.
        }
        track.bytes = size(track.file)
        return track
    }

    private func size(_ name: String) -> Int {
        var status = stat()
        return stat(catalogue.path(name), &status) == 0 ? Int(status.st_size) : 0
    }

    private func modificationDate(_ name: String) -> Date {
        var status = stat()
        return stat(catalogue.path(name), &status) == 0
            ? Date(
                timeIntervalSince1970: Double(status.st_mtim.tv_sec) + Double(status.st_mtim.tv_nsec) / 1_000_000_000)
            : Date()
    }
}
