import Basics

/// The space of a disk that all recordings together leave free.
///
/// A recording claims bytes before it writes them, and claimed bytes count as used. So however many recordings write at
/// once, the free space does not fall below the reserve.
package final class DiskReserve: Sendable {
    package let directory: String
    /// The configured reserve in bytes.
    package let minimumFree: Int

    private let disk: RecordingDisk
    /// The claimed bytes. The lock is held while the file system is queried: a claim must see the free space either
    /// before another write, together with its claim, or after it. Only threads that write to the disk take this lock.
    private let claimed = Guarded(0)
    private let lastSeen = Guarded<DiskSpace?>(nil)

    /// The part of a file system that is left free where the file system is smaller than the reserve (one tenth).
    private static let partOfSmallDisk = 10
    /// The additional free space that a new recording needs, about two minutes: a recording that ends at once is of no
    /// use.
    private static let startMargin = 32 << 20

    package init(directory: String, minimumFree: Int, disk: RecordingDisk = .system) {
        self.directory = directory
        self.minimumFree = max(0, minimumFree)
        self.disk = disk
    }

    /// The bytes that are left free on a file system of `size` bytes.
    package func floor(ofSize size: Int) -> Int { isLargerThanDisk(size) ? size / Self.partOfSmallDisk : minimumFree }

    private func isLargerThanDisk(_ size: Int) -> Bool { minimumFree > size }

    /// The space at the last query; never waits for the disk.
    package var lastSpace: DiskSpace? { lastSeen.withLock { $0 } }

    /// Queries the space now. May wait for the disk.
    @discardableResult
    package func look() -> DiskSpace? {
        let space = disk.space(directory)
        lastSeen.withLock { $0 = space }
        return space
    }

    /// Why the configured reserve cannot be kept, in a sentence; nil if it can.
    package func complaint() -> String? {
        guard let space = look(), isLargerThanDisk(space.size) else { return nil }
        return
            "recording.minimumFree (\(RecordingError.text(bytes: minimumFree))) is more than the file system of \(directory) has "
            + "(\(RecordingError.text(bytes: space.size))): a tenth of it is kept free instead"
    }

    /// Throws `lowSpace` where no recording may begin. May wait for the disk.
    package func checkStart() throws(RecordingError) {
        let taken = claimed.withLock { $0 }
        guard let space = look() else { return }
        let wanted = floor(ofSize: space.size) + min(Self.startMargin, space.size / Self.partOfSmallDisk)
        if minimumFree > 0, space.free - taken < wanted {
            throw .lowSpace(directory: directory, free: max(0, space.free - taken), wanted: wanted)
        }
    }

    /// Throws `lowSpace` where the reserve is already used, for example by other programs. May wait for the disk.
    package func checkRunning() throws(RecordingError) {
        guard minimumFree > 0, let space = look() else { return }
        let wanted = floor(ofSize: space.size)
        if space.free < wanted { throw .lowSpace(directory: directory, free: space.free, wanted: wanted) }
    }

    /// Claims `bytes` for the next write.
    fileprivate func claim(_ bytes: Int) throws(RecordingError) {
        try claimed.withLock { claimed throws(RecordingError) in
            if minimumFree > 0, let space = look() {
                let wanted = floor(ofSize: space.size)
                let free = space.free - claimed
                if free - bytes < wanted { throw .lowSpace(directory: directory, free: max(0, free), wanted: wanted) }
            }
            claimed += bytes
        }
    }

    fileprivate func release(_ bytes: Int) { claimed.withLock { $0 -= bytes } }

    /// Whether `bytes` more leave the reserve free. Without a reserve the file system is not queried.
    func hasRoom(for bytes: Int) -> Bool {
        guard let space = look() else { return true }
        return space.free - claimed.withLock({ $0 }) - bytes >= (minimumFree > 0 ? floor(ofSize: space.size) : 0)
    }
}

/// Claimed bytes of a disk, which are released in `deinit`.
final class DiskClaim: Sendable {
    private let reserve: DiskReserve
    private let bytes = Guarded(0)

    init(_ reserve: DiskReserve) { self.reserve = reserve }
    deinit { reserve.release(bytes.withLock { $0 }) }

    /// Claims `more` bytes.
    ///
    /// - Throws: `lowSpace` where they would use the reserve.
    func grow(_ more: Int) throws(RecordingError) {
        try reserve.claim(more)
        bytes.withLock { $0 += more }
    }
}
