import FoundationEssentials
import Glibc

/// The file of the events that wait for one webhook, so that the end of the process, however it comes, loses none that
/// was written.
///
/// A line is `+ID MILLISECONDS TYPE LENGTH BODY`, TYPE being `u` for events that may be dropped first and `e` for
/// others. The `+` of an event that has been delivered or dropped is overwritten by `-`, which needs no space on a full
/// disk. A line that `kill -9` or a power failure has torn is left out when the file is opened; one at the end is cut
/// off.
///
/// The system writes to the disk when it likes: what was appended outlives the process at once, and a power failure
/// after `sync`, which its owner calls once a second.
final class WebhookJournal {
    /// An event's line.
    struct Place: Sendable, Equatable {
        /// The line's first byte.
        var offset: Int
        /// The body's first byte.
        var body: Int
        /// The bytes of the body, behind which the line ends.
        var length: Int

        var bytes: Int { body + length + 1 - offset }
    }

    /// A sentence for the log.
    struct Fault: Error, Equatable {
        var message: String
    }

    private let path: String
    private var file: Int32
    /// The bytes of whole lines. Behind them may be a part of a line that a full disk has cut.
    private(set) var size = 0

    /// Opens the file, or creates it, for the server's user only. `found` gets each waiting event, without its body;
    /// `isTorn` is whether lines could not be read.
    init(
        _ path: String, isTorn: inout Bool, found: (_ id: String, _ time: Int64, _ isReplaceable: Bool, Place) -> Void
    ) throws(Fault) {
        self.path = path
        file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw Self.fault(path) }
        var reader = JournalReader()
        var buffer = [UInt8](repeating: 0, count: 1 << 18)
        var offset = 0
        let end = Int(lseek(file, 0, SEEK_END))
        guard end >= 0 else { throw Self.fault(path) }
        while offset < end {
            let count = pread(file, &buffer, buffer.count, off_t(offset))
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw Self.fault(path) }
            if count == 0 { break }
            reader.read(buffer[..<count]) { found($0.id, $0.time, $0.isReplaceable, $0.place) }
            offset += count
        }
        isTorn = reader.isTorn || reader.lineStart != offset
        size = reader.lineStart
        if size != offset, ftruncate(file, off_t(size)) != 0 { throw Self.fault(path) }
    }

    deinit { close(file) }

    /// Appends events with one write. After a fault the file is as it was before.
    func append(_ events: some Sequence<WebhookEvent>) throws(Fault) -> [Place] {
        // What an earlier fault has left behind the last whole line.
        guard ftruncate(file, off_t(size)) == 0 else { throw Self.fault(path) }
        var (lines, places): ([UInt8], [Place]) = ([], [])
        for event in events {
            let offset = size + lines.count
            lines += "+\(event.id) \(event.time) \(event.isReplaceable ? "u" : "e") \(event.body.count) ".utf8
            places.append(Place(offset: offset, body: size + lines.count, length: event.body.count))
            lines += event.body
            lines.append(UInt8(ascii: "\n"))
        }
        guard write(lines, at: size, to: file) else {
            let fault = Self.fault(path)
            _ = ftruncate(file, off_t(size))
            throw fault
        }
        size += lines.count
        return places
    }

    /// Marks an event as one that does not wait any more.
    func strike(_ place: Place) { _ = write([UInt8(ascii: "-")], at: place.offset, to: file) }

    /// nil where the disk cannot be read.
    func body(_ place: Place) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: place.length)
        var read = 0
        while read < bytes.count {
            let count = bytes.withUnsafeMutableBytes { buffer in
                pread(file, buffer.baseAddress.map { $0 + read }, buffer.count - read, off_t(place.body + read))
            }
            if count < 0, errno == EINTR { continue }
            if count <= 0 { return nil }
            read += count
        }
        return bytes
    }

    func sync() { _ = fdatasync(file) }

    /// Removes all lines, once no event waits.
    func clear() { if ftruncate(file, 0) == 0 { size = 0 } }

    /// Writes the lines of the events that still wait into a new file, which takes the place of this one. Returns their
    /// new places; nil where the disk does not take them, with the old file unchanged.
    func compact(keeping places: [Place]) -> [Place]? {
        let fresh = path + ".new"
        unlink(fresh)
        let target = open(fresh, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard target >= 0 else { return nil }
        var (moved, end): ([Place], Int) = ([], 0)
        for place in places {
            let shift = end - place.offset
            guard let line = body(Place(offset: place.offset, body: place.offset, length: place.bytes)),
                write(line, at: end, to: target)
            else {
                close(target)
                unlink(fresh)
                return nil
            }
            moved.append(Place(offset: end, body: place.body + shift, length: place.length))
            end += place.bytes
        }
        guard fdatasync(target) == 0, rename(fresh, path) == 0 else {
            close(target)
            unlink(fresh)
            return nil
        }
        close(file)
        (file, size) = (target, end)
        return moved
    }

    private func write(_ bytes: [UInt8], at offset: Int, to file: Int32) -> Bool {
        bytes.withUnsafeBytes { bytes in
            var written = 0
            while written < bytes.count {
                let count = pwrite(
                    file, bytes.baseAddress.map { $0 + written }, bytes.count - written, off_t(offset + written))
                if count < 0, errno == EINTR { continue }
                if count <= 0 { return false }
                written += count
            }
            return true
        }
    }

    private static func fault(_ path: String) -> Fault {
        Fault(message: "\(path) cannot be written: \(String(cString: strerror(errno)))")
    }
}
