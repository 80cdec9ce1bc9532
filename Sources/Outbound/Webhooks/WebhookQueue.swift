import Basics

/// The events that wait for one webhook, the oldest first: on the disk, and in memory what the disk does not take.
/// Confined to the thread of `Webhooks`, which may wait for the disk.
package final class WebhookQueue {
    package struct Limits: Sendable {
        /// The most bytes that wait in the file.
        var file = 64 << 20
        /// The most bytes that wait in memory, where the disk takes none.
        var memory = 4 << 20
        /// The bytes of events that wait no more, from which on the file is written anew. It is then at most twice as
        /// large as what waits.
        var waste = 1 << 20
        /// The time between attempts to write again, after the disk has refused a write.
        var diskRetry = Duration.seconds(10)
        /// The time between `fdatasync`s.
        var sync = Duration.seconds(1)
    }

    private enum Place {
        case file(WebhookJournal.Place)
        case memory([UInt8])

        var bytes: Int {
            switch self {
            case .file(let place): place.bytes
            case .memory(let body): body.count
            }
        }
        var isInMemory: Bool { if case .memory = self { true } else { false } }
    }

    private struct Entry {
        var id: String
        var time: Int64
        var isReplaceable: Bool
        var place: Place
    }

    private let limits: Limits
    private let journal: WebhookJournal?
    /// Those before `head` do not wait any more. All that are in the file come before all in memory.
    private var entries: [Entry] = []
    private var head = 0
    private var fileBytes = 0
    private var memoryBytes = 0
    private var nextWrite = Instant.distantPast
    private var nextCompaction = Instant.distantPast
    private var unsynced: Instant?
    /// Why events are in memory only, as a sentence; nil: the disk takes them.
    private(set) var fault: String?
    /// Whether lines of the file could not be read when it was opened.
    private(set) var isTorn = false

    /// - Parameter path: the file; nil: `fault` says why there is none.
    init(_ path: String?, fault: String? = nil, limits: Limits = Limits()) {
        self.limits = limits
        self.fault = fault
        guard let path else {
            journal = nil
            return
        }
        var (found, isTorn): ([Entry], Bool) = ([], false)
        do throws(WebhookJournal.Fault) {
            journal = try WebhookJournal(path, isTorn: &isTorn) { id, time, isReplaceable, place in
                found.append(Entry(id: id, time: time, isReplaceable: isReplaceable, place: .file(place)))
            }
        } catch {
            journal = nil
            self.fault = error.message
        }
        entries = journal == nil ? [] : found
        self.isTorn = isTorn
        fileBytes = entries.reduce(0) { $0 + $1.place.bytes }
    }

    var count: Int { entries.count - head }
    var bytes: Int { fileBytes + memoryBytes }
    /// The id and the time of the event whose turn it is.
    var first: (id: String, time: Int64)? { count == 0 ? nil : (entries[head].id, entries[head].time) }

    /// The body of the first event; nil where the disk cannot be read.
    var firstBody: [UInt8]? {
        guard count > 0 else { return nil }
        switch entries[head].place {
        case .file(let place): return journal?.body(place)
        case .memory(let body): return body
        }
    }

    /// Adds events behind all others. Returns how many were dropped because too many wait.
    ///
    /// - Parameter keepsFirst: the first event is being sent, and is not dropped.
    func add(_ events: [WebhookEvent], keepsFirst: Bool, at now: Instant) -> Int {
        guard !events.isEmpty else { return 0 }
        if memoryBytes > 0 || fault != nil || !append(events, at: now) {
            for event in events {
                entries.append(
                    Entry(
                        id: event.id, time: event.time, isReplaceable: event.isReplaceable,
                        place: .memory(event.body)))
                memoryBytes += event.body.count
            }
        }
        return drop(memoryBytes, above: limits.memory, keepsFirst) { $0.isInMemory }
            + drop(fileBytes, above: limits.file, keepsFirst) { !$0.isInMemory }
    }

    /// Removes the first event, which was delivered or is too old.
    func removeFirst() {
        guard count > 0 else { return }
        let entry = entries[head]
        head += 1
        if case .file(let place) = entry.place { journal?.strike(place) }
        forget(entry.place)
        if head > 1024, head > entries.count / 2 {
            entries.removeFirst(head)
            head = 0
        }
    }

    /// Does what is due: writes what the disk has refused before, syncs the file, or writes it anew without what waits
    /// no more.
    func settle(at now: Instant) {
        guard let journal else { return }
        if fault != nil, now >= nextWrite { writeMemory(journal, at: now) }
        if count == 0 {
            if journal.size > 0 { journal.clear() }
            unsynced = nil
        } else if journal.size - fileBytes > max(limits.waste, fileBytes), now >= nextCompaction {
            compact(journal, at: now)
        }
        if let first = unsynced, now >= first + limits.sync {
            journal.sync()
            unsynced = nil
        }
    }

    /// Writes all to the disk before the end.
    func close(at now: Instant) {
        if fault != nil { nextWrite = now }
        settle(at: now)
        if unsynced != nil { journal?.sync() }
    }

    /// When `settle` has something to do.
    var nextSettling: Instant? {
        let sync = unsynced.map { $0 + limits.sync }
        let write = fault != nil && journal != nil ? nextWrite : nil
        return [sync, write].compactMap { $0 }.min()
    }

    // MARK: - The file

    private func append(_ events: [WebhookEvent], at now: Instant) -> Bool {
        guard let journal else { return false }
        do throws(WebhookJournal.Fault) {
            for (event, place) in zip(events, try journal.append(events)) {
                entries.append(
                    Entry(id: event.id, time: event.time, isReplaceable: event.isReplaceable, place: .file(place)))
                fileBytes += place.bytes
            }
        } catch {
            fault = error.message
            nextWrite = now + limits.diskRetry
            return false
        }
        fault = nil
        unsynced = unsynced ?? now
        return true
    }

    /// Writes the events of the memory, which are the last ones.
    private func writeMemory(_ journal: WebhookJournal, at now: Instant) {
        let start = entries[head...].firstIndex { $0.place.isInMemory } ?? entries.endIndex
        let waiting = entries[start...].map { entry -> WebhookEvent in
            var body: [UInt8] = []
            if case .memory(let bytes) = entry.place { body = bytes }
            return WebhookEvent(id: entry.id, time: entry.time, isReplaceable: entry.isReplaceable, body: body)
        }
        let count = entries.count
        guard append(waiting, at: now) else { return }
        entries.removeSubrange(start..<count)
        memoryBytes = 0
    }

    private func compact(_ journal: WebhookJournal, at now: Instant) {
        nextCompaction = now + limits.diskRetry
        entries.removeFirst(head)
        head = 0
        let places = entries.compactMap { entry -> WebhookJournal.Place? in
            if case .file(let place) = entry.place { place } else { nil }
        }
        guard let moved = journal.compact(keeping: places) else { return }
        for (index, place) in moved.enumerated() { entries[index].place = .file(place) }
        nextCompaction = .distantPast
    }

    // MARK: - The bound

    /// Drops events of one kind of place until they have fewer bytes than the limit, with some room for the next ones:
    /// replaceable ones first, and the oldest first.
    private func drop(
        _ bytes: Int, above limit: Int, _ keepsFirst: Bool, of isConcerned: (Place) -> Bool
    ) -> Int {
        var total = bytes
        guard total > limit else { return 0 }
        var dropped: Set<Int> = []
        let first = keepsFirst ? head + 1 : head
        for replaceable in [true, false] {
            for index in entries.indices.dropFirst(first) where total > limit / 16 * 15 {
                let entry = entries[index]
                guard entry.isReplaceable == replaceable, isConcerned(entry.place) else { continue }
                dropped.insert(index)
                total -= entry.place.bytes
                if case .file(let place) = entry.place { journal?.strike(place) }
                forget(entry.place)
            }
        }
        entries = entries.indices.dropFirst(head).filter { !dropped.contains($0) }.map { entries[$0] }
        head = 0
        return dropped.count
    }

    private func forget(_ place: Place) {
        if place.isInMemory { memoryBytes -= place.bytes } else { fileBytes -= place.bytes }
    }
}
