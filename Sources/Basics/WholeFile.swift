package import Glibc

/// Writes files whole: a reader, and the next start after a crash or a loss of power, finds the old content or the new
/// one, never a part. The content goes into another file of the folder, which then gets the name.
///
/// The calls block as long as the disk does: not for a loop, nor for a thread that keeps a room's time. The folder must
/// be there.
package enum WholeFile {
    /// What a new file's name ends with until it has its place. A crash may leave such a file; the next `replace`
    /// removes it.
    package static let unfinished = ".new"

    /// Why a file is not written. What was there before is unchanged.
    package struct Fault: Error, Hashable, Sendable, CustomStringConvertible {
        /// Of `errno.h`.
        package let code: Int32

        /// The system's words for it.
        package var description: String { String(cString: strerror(code)) }
    }

    /// Makes the file, or replaces its content and permissions. One call at a time for a path.
    ///
    /// - Parameters:
    ///   - mode: the permissions of the new file, less those of the process's umask.
    ///   - unfinished: another end of the new file's name, where its folder has its own rules.
    ///   - isSynced: whether the call waits until the disk has the file. Without, a loss of power may leave it empty: for
    ///     what nobody misses then.
    package static func replace(
        _ path: String, with bytes: some Collection<UInt8>, mode: mode_t, unfinished: String = unfinished,
        isSynced: Bool = true
    ) throws(Fault) {
        let beside = path + unfinished
        unlink(beside)
        try store(bytes, beside, mode, isSynced: isSynced)
        guard rename(beside, path) == 0 else {
            let code = errno
            unlink(beside)
            throw Fault(code: code)
        }
        if isSynced { syncFolder(of: path) }
    }

    /// Makes a file that is not there yet, on the disk when the call returns. Of several processes that make it at the
    /// same time the first one does, and the others throw `EEXIST`.
    package static func make(_ path: String, with bytes: some Collection<UInt8>, mode: mode_t) throws(Fault) {
        // A name of its own: another process may be writing beside.
        let beside = "\(path).\(UInt64.random(in: .min ... .max))\(unfinished)"
        try store(bytes, beside, mode, isSynced: true)
        defer { unlink(beside) }
        if link(beside, path) != 0 {
            // A file system without hard links has no better way.
            guard errno != EEXIST, access(path, F_OK) != 0, rename(beside, path) == 0 else { throw Fault(code: errno) }
        }
        syncFolder(of: path)
    }

    /// Waits until the disk has the names in the file's folder. A file system that cannot do this is left alone.
    package static func syncFolder(of path: String) {
        let folder = open(folder(of: path), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { return }
        fsync(folder)
        close(folder)
    }

    /// The folder of a file's path.
    package static func folder(of path: String) -> String {
        path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    }

    /// Makes a file of the bytes; of a failure it leaves none.
    private static func store(
        _ bytes: some Collection<UInt8>, _ path: String, _ mode: mode_t, isSynced: Bool
    ) throws(Fault) {
        // An existing file is never opened: it may be a link to somewhere else.
        let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode)
        guard file >= 0 else { throw Fault(code: errno) }
        var code =
            bytes.withContiguousStorageIfAvailable { write($0, to: file) }
            ?? Array(bytes).withUnsafeBufferPointer { write($0, to: file) }
        if code == 0, isSynced, fsync(file) != 0 { code = errno }
        if close(file) != 0, code == 0 { code = errno }
        guard code != 0 else { return }
        unlink(path)
        throw Fault(code: code)
    }

    /// Returns 0, or the `errno` of a failure.
    private static func write(_ bytes: UnsafeBufferPointer<UInt8>, to file: Int32) -> Int32 {
        var rest = UnsafeRawBufferPointer(bytes)
        while !rest.isEmpty {
            let count = Glibc.write(file, rest.baseAddress, rest.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return count < 0 ? errno : EIO }
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
        return 0
    }
}
