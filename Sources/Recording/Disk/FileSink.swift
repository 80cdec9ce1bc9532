import Glibc

/// The growing file of a recording: knows why a write failed and what of it is safely on the disk.
///
/// Not Sendable: confined to the recorder's queue.
final class FileSink {
    /// Who runs the server and its group may read recordings, nobody else.
    static let fileMode: mode_t = 0o640

    let path: String
    private(set) var failure: RecordingError?
    private(set) var byteCount = 0
    /// Up to here the file consists of whole fragments that are on the disk.
    private(set) var safeByteCount = 0

    private var descriptor: Int32
    private let disk: RecordingDisk
    private let reserve: DiskReserve?
    /// What the index of what is written so far will take when the file is closed; to be held until then.
    let indexClaim: DiskClaim?

    /// Bytes of the index for a sample: size, duration, place among the keyframes and chunks; 16 would do.
    private static let indexBytesPerSample = 24
    /// Bytes of a fragment's own boxes for a sample, and for the fragment.
    private static let fragmentBytesPerSample = 16
    private static let fragmentBytes = 1024

    /// Makes the file; one that exists is not touched. `reserve`: what is to be left free on the disk.
    init(path: String, disk: RecordingDisk = .system, reserve: DiskReserve? = nil) throws(RecordingError) {
        RecordingDisk.survivesFileSizeLimit
        self.path = path
        self.disk = disk
        self.reserve = reserve
        indexClaim = reserve.map { DiskClaim($0) }
        descriptor = try Self.make(path)
        // Whoever repairs what was left open must not take this one, which grows.
        _ = SystemFile.lock(descriptor)
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// A new file for writing, with `fileMode` whatever the umask is.
    static func make(_ path: String) throws(RecordingError) -> Int32 {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, fileMode)
        guard descriptor >= 0 else { throw .notWritable(path: path, reason: String(cString: strerror(errno))) }
        fchmod(descriptor, fileMode)
        return descriptor
    }

    /// Called before a fragment of so many bytes and samples is written; it may be written while the answer is held.
    ///
    /// - Throws: `lowSpace` where that, or the index that it needs later, would touch the reserve.
    func claim(_ bytes: Int, samples: Int) throws(RecordingError) -> DiskClaim? {
        guard let reserve else { return nil }
        try indexClaim?.grow(samples * Self.indexBytesPerSample)
        let claim = DiskClaim(reserve)
        try claim.grow(bytes + samples * Self.fragmentBytesPerSample + Self.fragmentBytes)
        return claim
    }

    /// Writes all or remembers why not.
    func write(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard failure == nil, descriptor >= 0 else { return false }
        var rest = bytes
        while !rest.isEmpty {
            let count = disk.write(descriptor, rest)
            if count == -Int(EINTR) { continue }
            guard count >= 0, count <= rest.count else {
                failure = .system(Int32(clamping: -count), path: path)
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
        guard fdatasync(descriptor) == 0 else { throw remember(.system(errno, path: path)) }
        // Where the directory is gone, writing goes on into a file that nobody will find.
        guard isInPlace else { throw remember(.gone(path: path)) }
        safeByteCount = byteCount
    }

    private func remember(_ error: RecordingError) -> RecordingError {
        failure = error
        return error
    }

    /// Whether the path still leads to this very file.
    private var isInPlace: Bool {
        var own = stat()
        var found = stat()
        return fstat(descriptor, &own) == 0 && stat(path, &found) == 0 && own.st_ino == found.st_ino
            && own.st_dev == found.st_dev
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
        let descriptor = open(directory(of: path), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        close(descriptor)
    }

    static func directory(of path: String) -> String {
        path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    }
}
