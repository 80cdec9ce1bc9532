import Glibc

/// The growing file of a recording: knows why a write failed and what of it is safely on the disk.
///
/// Not Sendable: confined to the recorder's queue.
final class FileSink {
    let path: String
    private(set) var failure: RecordingError?
    private(set) var byteCount = 0
    /// Up to here the file consists of whole fragments that are on the disk.
    private(set) var safeByteCount = 0

    private var descriptor: Int32
    /// A disk of this size, for tests of a full one.
    private let capacity: Int

    /// Makes the file; one that exists is not touched.
    init(path: String, capacity: Int = .max) throws(RecordingError) {
        self.path = path
        self.capacity = capacity
        descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw .notWritable(path: path, reason: String(cString: strerror(errno))) }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Writes all or remembers why not.
    func write(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard failure == nil, descriptor >= 0 else { return false }
        var rest = bytes
        while let base = rest.baseAddress, !rest.isEmpty {
            let count = byteCount + rest.count > capacity ? -1 : Glibc.write(descriptor, base, rest.count)
            if count < 0 {
                let code = byteCount + rest.count > capacity ? ENOSPC : errno
                if code == EINTR { continue }
                failure = .system(code, path: path)
                return false
            }
            byteCount += count
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
        return true
    }

    /// Called at the end of a fragment: it survives a crash of the machine from here on.
    func secure() throws(RecordingError) {
        if let failure { throw failure }
        guard fdatasync(descriptor) == 0 else {
            let error = RecordingError.system(errno, path: path)
            failure = error
            throw error
        }
        safeByteCount = byteCount
    }

    /// Cuts off what is not a whole fragment, and closes.
    func finish() {
        guard descriptor >= 0 else { return }
        if byteCount != safeByteCount, ftruncate(descriptor, safeByteCount) == 0 { byteCount = safeByteCount }
        fsync(descriptor)
        close(descriptor)
        descriptor = -1
    }

    /// Makes a rename or a new file in the directory of `path` last.
    static func secureDirectory(of path: String) {
        let parent = path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        let descriptor = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        close(descriptor)
    }
}
