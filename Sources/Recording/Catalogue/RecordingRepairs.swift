import Basics
import Foundation

/// Closes what a crash left open in a catalogue's directory, one file after the other, while new recordings begin and
/// others are read.
///
/// MP4 files without a sidecar are closed too when they are fragments, and get an entry.
public final class RecordingRepairs: Sendable {
    private let catalogue: RecordingCatalogue
    private let waitingIDs: Guarded<[Open]>

    private struct Open {
        var id: String
        /// What its state is once it is closed: a crash leaves finished ones, a full disk failed ones.
        var after = RecordingEntry.State.finished
    }

    public init(_ catalogue: RecordingCatalogue) {
        self.catalogue = catalogue
        waitingIDs = Guarded(catalogue.leftOpen.map { Open(id: $0) })
    }

    /// How many wait to be closed, the one in work included.
    public var waiting: Int { waitingIDs.withLock { $0.count } }

    /// Works until nothing is left. Once, on a thread that has time.
    ///
    /// - Parameters:
    ///   - shouldGoOn: asked before each; what is left then waits for the next start.
    ///   - told: how each ended, and how many still wait.
    public func run(
        reserve: DiskReserve? = nil, while shouldGoOn: () -> Bool = { true },
        told: (RecordingEntry, _ left: Int) -> Void = { _, _ in }
    ) {
        findStrays()
        while shouldGoOn(), let next = waitingIDs.withLock({ $0.first }) {
            let closed = catalogue.entry(next.id).map { close($0, next.after, reserve) }
            let left = waitingIDs.withLock { waiting in
                waiting.removeFirst()
                return waiting.count
            }
            if let closed { told(closed, left) }
        }
    }

    /// Adds files without a sidecar, and those that a full disk did not let be closed when they ended.
    private func findStrays() {
        // The files first: what begins from here on has its entry before its file, and is none.
        for name in catalogue.names(ending: ".mp4") {
            let base = String(name.dropLast(4))
            if catalogue.isKnown(base) || RecordingRepair.isClosed(catalogue.path(name)) { continue }
            let found = RecordingEntry(
                id: RecordingEntry.slug(base), room: "", file: name, files: [name], state: .repairing,
                startedAt: modificationDate(name),
                wasRecovered: true)
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
        let base = String(entry.file.dropLast(4))
        let parts = [entry.file] + (2..<100_000).lazy.map { "\(base)-\($0).mp4" }.prefix { self.catalogue.exists($0) }
        entry.wasRecovered = true
        entry.state = after
        entry.files = []
        var duration = 0.0
        var bytes = 0
        for name in parts {
            do throws(RecordingError) {
                let path = catalogue.path(name)
                let report =
                    try RecordingRepair.isClosed(path)
                    ? RecordingRepair.check(file: path) : MP4Closing.close(path, reserve: reserve)
                duration += report.duration.inSeconds
                bytes += report.bytes
                entry.files.append(name)
            } catch .inUse {
                // Another server that ends, or a repair by hand: it knows better how it ends.
                return open
            } catch {
                entry.message = error.publicDescription
            }
        }
        if entry.files.isEmpty {
            guard parts.contains(where: { catalogue.exists($0) && size($0) > 0 }) else {
                // The crash came before the first fragment.
                for name in parts { unlink(catalogue.path(name)) }
                catalogue.remove(entry.id)
                entry.state = .failed
                return entry
            }
            entry.state = .failed
            entry.files = parts.filter { catalogue.exists($0) }
        }
        entry.duration = duration
        entry.bytes = bytes
        do throws(RecordingError) { try catalogue.update(entry) } catch { entry.message = error.publicDescription }
        return entry
    }

    private func size(_ name: String) -> Int {
        var status = stat()
        return stat(catalogue.path(name), &status) == 0 ? Int(status.st_size) : 0
    }

    private func modificationDate(_ name: String) -> Date {
        var status = stat()
        return stat(catalogue.path(name), &status) == 0
            ? Date(timeIntervalSince1970: Double(status.st_mtim.tv_sec)) : Date()
    }
}
