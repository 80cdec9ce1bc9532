import Basics

/// The bytes of a disk that all recordings together leave free.
///
/// Whoever is going to write claims the bytes before; what others claimed and did not write yet counts as taken. So
/// however many recordings write at once, they do not go below the reserve.
public final class DiskReserve: Sendable {
    public let directory: String
    /// As it was asked for.
    public let minimumFree: Int

    private let disk: RecordingDisk
    /// Held while the file system is asked: a claim must see either the free bytes before another's write, and its
    /// claim, or those after it. Only threads that write to the disk come here.
    private let claimed = Guarded(0)
    private let lastSeen = Guarded<DiskSpace?>(nil)

    /// A file system smaller than what is to be left free keeps this part of itself.
    private static let partOfSmallDisk = 10
    /// A recording begins only if so much more is free: one that ends at once is of no use. 32 MiB are about two
    /// minutes.
    private static let startMargin = 32 << 20

    public init(directory: String, minimumFree: Int, disk: RecordingDisk = .system) {
        self.directory = directory
        self.minimumFree = max(0, minimumFree)
        self.disk = disk
    }

    /// What is left free on a file system of a size.
    public func floor(ofSize size: Int) -> Int { isLargerThanDisk(size) ? size / Self.partOfSmallDisk : minimumFree }

    private func isLargerThanDisk(_ size: Int) -> Bool { minimumFree > size }

    /// The space as it was when somebody last asked; never waits for the disk.
    public var lastSpace: DiskSpace? { lastSeen.withLock { $0 } }

    /// The space now. May wait for the disk.
    @discardableResult
    public func look() -> DiskSpace? {
        let space = disk.space(directory)
        lastSeen.withLock { $0 = space }
        return space
    }

    /// Why the reserve cannot be kept as it was asked for, in a sentence; nil if it can.
    public func complaint() -> String? {
        guard let space = look(), isLargerThanDisk(space.size) else { return nil }
        return
            "recording.minimumFree (\(RecordingError.text(bytes: minimumFree))) is more than the file system of \(directory) has "
            + "(\(RecordingError.text(bytes: space.size))): a tenth of it is kept free instead"
    }

    /// Whether a recording may begin. May wait for the disk.
    public func checkStart() throws(RecordingError) {
        let taken = claimed.withLock { $0 }
        guard let space = look() else { return }
        let wanted = floor(ofSize: space.size) + min(Self.startMargin, space.size / Self.partOfSmallDisk)
        if minimumFree > 0, space.free - taken < wanted {
            throw .lowSpace(directory: directory, free: max(0, space.free - taken), wanted: wanted)
        }
    }

    /// Whether the reserve is touched already, as by other programs. May wait for the disk.
    public func checkRunning() throws(RecordingError) {
        guard minimumFree > 0, let space = look() else { return }
        let wanted = floor(ofSize: space.size)
        if space.free < wanted { throw .lowSpace(directory: directory, free: space.free, wanted: wanted) }
    }

    /// Takes `bytes` for a write that comes now.
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

    /// Whether `bytes` more leave the reserve whole; nobody is asked where none is kept.
    func hasRoom(for bytes: Int) -> Bool {
        guard let space = look() else { return true }
        return space.free - claimed.withLock({ $0 }) - bytes >= (minimumFree > 0 ? floor(ofSize: space.size) : 0)
    }
}

/// Bytes of a disk that somebody is going to write; given back when this goes.
final class DiskClaim: Sendable {
    private let reserve: DiskReserve
    private let bytes = Guarded(0)

    init(_ reserve: DiskReserve) { self.reserve = reserve }
    deinit { reserve.release(bytes.withLock { $0 }) }

    /// - Throws: `lowSpace` where so much more would touch the reserve.
    func grow(_ more: Int) throws(RecordingError) {
        try reserve.claim(more)
        bytes.withLock { $0 += more }
    }
}
