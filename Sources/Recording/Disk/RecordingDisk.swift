import Basics
import Glibc

/// The file system calls of running recordings. Tests replace them by a disk that is full, slow or read-only.
package struct RecordingDisk: Sendable {
    /// write(2): returns the number of written bytes, or minus the `errno`.
    package var write: @Sendable (_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int
    /// The space of the file system that holds a directory; nil where the query fails.
    package var space: @Sendable (_ directory: String) -> DiskSpace?

    package init(
        write: @escaping @Sendable (Int32, UnsafeRawBufferPointer) -> Int = RecordingDisk.systemWrite,
        space: @escaping @Sendable (String) -> DiskSpace? = RecordingDisk.systemSpace
    ) {
        self.write = write
        self.space = space
    }

    package static let system = RecordingDisk()

    package static let systemWrite: @Sendable (Int32, UnsafeRawBufferPointer) -> Int = { WholeFile.systemWrite($0, $1) }

    package static let systemSpace: @Sendable (String) -> DiskSpace? = { directory in
        var status = statvfs()
        guard statvfs(directory, &status) == 0 else { return nil }
        let block = Int(clamping: status.f_frsize)
        func bytes(_ blocks: UInt) -> Int {
            Int(clamping: blocks.multipliedReportingOverflow(by: UInt(block)).partialValue)
        }
        // `f_bavail` excludes the space that is reserved for root.
        return DiskSpace(free: bytes(status.f_bavail), size: bytes(status.f_blocks))
    }

    /// Replaces a small file beside a recording as a whole, and waits until it is on the disk.
    func replace(_ path: String, with bytes: [UInt8]) throws(RecordingError) {
        Self.survivesFileSizeLimit
        do throws(WholeFile.Failure) {
            try WholeFile.replace(path, with: bytes, permissions: FileSink.fileMode, by: write)
        } catch {
            if error.step == .open { throw .notWritable(path: path, reason: error.description) }
            throw .system(error.code, path: path)
        }
    }

    /// Ignores SIGXFSZ, so that a write past RLIMIT_FSIZE is an error of that file and does not end the process.
    static let survivesFileSizeLimit: Void = { _ = signal(SIGXFSZ, SIG_IGN) }()
}

/// In bytes.
package struct DiskSpace: Hashable, Sendable {
    package var free: Int
    package var size: Int

    package init(free: Int, size: Int) {
        self.free = free
        self.size = size
    }
}
