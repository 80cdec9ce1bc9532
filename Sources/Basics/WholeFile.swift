import Glibc

/// Replaces files as a whole: readers see the old or the new content, and a failure leaves the old one.
package enum WholeFile {
    /// The end of the name of a file that is not complete yet, beside the one that it replaces.
    package static let suffix = ".new"

    /// Why a file was not replaced. Its text is the system's, such as `No space left on device`.
    package struct Failure: Error, Hashable, Sendable, CustomStringConvertible {
        package enum Step: Hashable, Sendable {
            case open, write, sync, rename
        }

        package let step: Step
        /// The `errno`.
        package let code: Int32

        package init(step: Step, code: Int32) { (self.step, self.code) = (step, code) }

        package var description: String { String(cString: strerror(code)) }
    }

    /// Writes a new file beside the old one and gives it the old one's name. Waits for the disk where `isSynced`; two
    /// calls for one path must not run at the same time.
    ///
    /// - Parameters:
    ///   - permissions: as of chmod(2), whatever the umask is; nil: what the umask leaves for reading and writing.
    ///   - suffix: what the new file's name has more until it is complete. A file of that name that a crash has left is
    ///     removed.
    ///   - isSynced: whether the file is on the disk at the end, so that it survives a crash of the machine. Without,
    ///     the system writes it later, and the call does not wait for the disk.
    ///   - write: write(2), which returns the number of written bytes, or minus the `errno`.
    package static func replace(
        _ path: String, with bytes: [UInt8], permissions: UInt32?, suffix: String = WholeFile.suffix,
        isSynced: Bool = true, by write: (Int32, UnsafeRawBufferPointer) -> Int = WholeFile.systemWrite
    ) throws(Failure) {
        let partial = path + suffix
        unlink(partial)
        let file = open(partial, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, permissions ?? 0o666)
        guard file >= 0 else { throw Failure(step: .open, code: errno) }
        // A file system without permissions refuses this. The file has no more than it was opened with.
        if let permissions { fchmod(file, permissions) }
        var failure = fill(file, bytes, write)
        // Without this a machine that loses its power may have the new name with nothing in it.
        if failure == nil, isSynced, fsync(file) != 0 { failure = Failure(step: .sync, code: errno) }
        if close(file) != 0, failure == nil { failure = Failure(step: .write, code: errno) }
        if failure == nil, rename(partial, path) != 0 { failure = Failure(step: .rename, code: errno) }
        if let failure {
            unlink(partial)
            throw failure
        }
        if isSynced { syncFolder(of: path) }
    }

    /// Writes the names of a file's folder to the disk, so that a new file or a rename in it survives a crash of the
    /// machine. A file system that cannot do that has the new names nevertheless: this is no failure.
    package static func syncFolder(of path: String) {
        let descriptor = open(folder(of: path), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        close(descriptor)
    }

    /// The path of the folder that a file is in.
    package static func folder(of path: String) -> String {
        path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    }

    /// write(2): returns the number of written bytes, or minus the `errno`.
    package static func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
        let count = Glibc.write(descriptor, bytes.baseAddress, bytes.count)
        return count < 0 ? -Int(errno) : count
    }

    private static func fill(
        _ file: Int32, _ bytes: [UInt8], _ write: (Int32, UnsafeRawBufferPointer) -> Int
    ) -> Failure? {
        bytes.withUnsafeBytes { bytes in
            var rest = bytes
            while !rest.isEmpty {
                let count = write(file, rest)
                if count == -Int(EINTR) { continue }
                guard count > 0, count <= rest.count else {
                    return Failure(step: .write, code: count < 0 ? Int32(clamping: -count) : EIO)
                }
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            }
            return nil
        }
    }
}
