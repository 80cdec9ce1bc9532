import Basics
import Codecs
import Glibc

/// The growing file of a recording, with the reason of a failed write and the size that is safely on the disk.
///
/// Not Sendable: confined to the recorder's queue.
final class FileSink: MuxerSink {
    /// Only the server's user and group may read recordings.
    static let fileMode: mode_t = 0o640

    let path: String
    private(set) var failure: RecordingError?
    private(set) var byteCount = 0
    /// The size up to which the file consists of complete fragments that are on the disk.
    private(set) var safeByteCount = 0

    /// Where the next bytes are written.
    private var position = 0
    private var descriptor: Int32
    private let disk: RecordingDisk
    private let reserve: DiskReserve?
    /// The claim for the index of the written samples, to be held until the file is closed.
    let indexClaim: DiskClaim?

    /// Bytes of the index per sample: size, duration, entries of keyframes and chunks; 16 would suffice.
    private static let indexBytesPerSample = 24
    /// Bytes of a fragment's boxes per sample, and per fragment.
    private static let fragmentBytesPerSample = 16
    private static let fragmentBytes = 1024

    /// Creates the file, and throws where it exists. `reserve` is the space to be left free on the disk.
    init(path: String, disk: RecordingDisk = .system, reserve: DiskReserve? = nil) throws(RecordingError) {
        RecordingDisk.survivesFileSizeLimit
        self.path = path
        self.disk = disk
        self.reserve = reserve
        indexClaim = reserve.map { DiskClaim($0) }
        descriptor = try Self.make(path)
        // The lock keeps repairs away from this growing file.
        _ = FileLock.take(descriptor)
    }

    deinit { if descriptor >= 0 { FileLock.release(descriptor) } }

    /// Creates a file for writing, with `fileMode` whatever the umask is.
    static func make(_ path: String) throws(RecordingError) -> Int32 {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, fileMode)
        guard descriptor >= 0 else { throw .notWritable(path: path, reason: String(cString: strerror(errno))) }
        fchmod(descriptor, fileMode)
        return descriptor
    }

    /// Claims the space of a fragment of `bytes` and `samples`, which may be written while the claim is held.
    ///
    /// - Throws: `lowSpace` where that, or the index that it needs later, would touch the reserve.
    func claim(_ bytes: Int, samples: Int) throws(RecordingError) -> DiskClaim? {
        guard let reserve else { return nil }
        try indexClaim?.grow(samples * Self.indexBytesPerSample)
        let claim = DiskClaim(reserve)
        try claim.grow(bytes + samples * Self.fragmentBytesPerSample + Self.fragmentBytes)
        return claim
    }

    /// Writes all bytes, or stores the failure and returns false.
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
            position += count
            byteCount = max(byteCount, position)
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
        return true
    }

    /// Lets the next bytes replace those from `offset` on.
    func seek(to offset: Int) -> Bool {
        guard failure == nil, descriptor >= 0, lseek(descriptor, off_t(offset), SEEK_SET) >= 0 else { return false }
        position = offset
        return true
    }

    /// The same as `secure` for what is written often in many files: it survives a crash of the server, and one of the
    /// machine once the system has written it.
    func complete() throws(RecordingError) {
        if let failure { throw failure }
        safeByteCount = byteCount
    }

    /// Synchronises a complete fragment to the disk, so that it survives a crash of the machine.
    func secure() throws(RecordingError) {
        if let failure { throw failure }
        guard fdatasync(descriptor) == 0 else { throw remember(.system(errno, path: path)) }
        // Where the directory was removed, the writes succeed in a file that has no name any more.
        guard isInPlace else { throw remember(.gone(path: path)) }
        safeByteCount = byteCount
    }

    private func remember(_ error: RecordingError) -> RecordingError {
        failure = error
        return error
    }

    /// Whether the path still names this file.
    private var isInPlace: Bool {
        var own = stat()
        var found = stat()
        return fstat(descriptor, &own) == 0 && stat(path, &found) == 0 && own.st_ino == found.st_ino
            && own.st_dev == found.st_dev
    }

    /// Cuts off an incomplete fragment and closes the file.
    func finish() {
        guard descriptor >= 0 else { return }
        if byteCount != safeByteCount, ftruncate(descriptor, safeByteCount) == 0 { byteCount = safeByteCount }
        fsync(descriptor)
        FileLock.release(descriptor)
        descriptor = -1
    }

    /// `WholeFile.replace` on a `RecordingDisk`, whose writes tests let fail, with the permissions of recordings.
    static func replace(_ path: String, with bytes: [UInt8], _ disk: RecordingDisk) throws(RecordingError) {
        let temporary = path + WholeFile.unfinished
        unlink(temporary)
        do throws(RecordingError) {
            // The sink closes the file even where a write throws.
            let sink = try FileSink(path: temporary, disk: disk)
            guard bytes.withUnsafeBytes({ sink.write($0) }) else { throw sink.failure ?? .diskFull(path: path) }
            try sink.secure()
            sink.finish()
        } catch {
            unlink(temporary)
            throw error
        }
        guard rename(temporary, path) == 0 else {
            let code = errno
            unlink(temporary)
            throw .system(code, path: path)
        }
        WholeFile.syncFolder(of: path)
    }
}
