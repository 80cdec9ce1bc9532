import FoundationEssentials
import Glibc

extension RecordingEntry {
    /// The names that the files of a complete recording may have, but for those of the catalogue itself: what is
    /// delivered, and what retention removes.
    var contentNames: [String] {
        // A sidecar may have been written by somebody else: its names must not lead out of the directory.
        ((files.isEmpty ? [file] : files) + (tracks ?? []).map(\.file)).filter { !$0.contains("/") }
            + [id + TimelineFiles.jsonSuffix, id + TimelineFiles.textSuffix, id + RecordingThumbnail.suffix]
    }
}

extension RecordingCatalogue {
    /// The paths of all files of a complete recording that exist: its parts in order, then its tracks and its
    /// timeline. Asks the disk.
    package func files(of entry: RecordingEntry) -> [String] {
        entry.contentNames.filter { exists($0) }.map { path($0) }
    }

    /// The bytes of all files of a recording on the disk.
    package func size(of entry: RecordingEntry) -> Int {
        entry.contentNames.reduce(0) { total, name in
            var status = stat()
            return stat(path(name), &status) == 0 ? total + Int(status.st_size) : total
        }
    }

    /// Stores how far a recording's delivery is. May wait for the disk.
    ///
    /// - Returns: the changed entry; nil where there is none.
    @discardableResult
    package func setDelivery(_ delivery: RecordingDelivery, of id: String) throws(RecordingError) -> RecordingEntry? {
        guard let entry = rememberDelivery(delivery, of: id) else { return nil }
        if delivery.isOpen {
            try PendingDelivery.write(delivery, of: id, self)
        } else {
            try write(entry)
            unlink(path(id + PendingDelivery.suffix))
        }
        return entry
    }

    /// Removes files of a complete recording, at most as many as given, and at last the recording itself. May wait for
    /// the disk.
    ///
    /// - Returns: whether nothing is left.
    /// - Throws: where a file cannot be removed; the recording then stays.
    package func delete(_ entry: RecordingEntry, atMost count: Int) throws(RecordingError) -> Bool {
        let names = entry.contentNames.filter { exists($0) }
        for name in names.prefix(count) where unlink(path(name)) != 0 && errno != ENOENT {
            throw .notWritable(path: path(name), reason: String(cString: strerror(errno)))
        }
        // The sidecar goes last: after a crash the rest is still known as this recording's.
        if names.count > count { return false }
        remove(entry.id)
        return true
    }
}
