import Basics
import FoundationEssentials
import Glibc
import Logging
import Threads

/// The file with what outlives the rooms of a server without a cluster: a server that is killed knows the hosts of its
/// rooms when it is started again. It has digests of keys, and no key.
///
/// A change is on the disk within half a second: written on a lane of its own into a new file, which then takes the
/// place of the old one.
final class RoomsFile: Sendable {
    /// How often the file is written at most.
    static let period = Duration.milliseconds(500)
    /// The most bytes that are read: 4096 rooms of 16 keys have 5 MB.
    private static let maxBytes = 64 << 20

    struct Entry: Codable, Sendable {
        var room: String
        var hosts: RoomState.HostKeys?
        var links: [RoomState.Link]?
        /// Until when the keys of the hosts are good; nil: the room was open.
        var until: Date?

        init(room: String, _ kept: KeptRoom, until: Date?) {
            self.room = room
            hosts = RoomState.HostKeys(kept.hosts)
            links = kept.links.isEmpty ? nil : kept.links.all.map { RoomState.Link($0) }
            self.until = until
        }

        var kept: KeptRoom { KeptRoom(hosts: Hosts(hosts), links: GuestLinks(links ?? [])) }
    }

    private struct Contents: Codable {
        var version = 1
        var rooms: [Entry]
    }

    private struct State {
        var isChanged = false
        var isWriting = false
        var hasFailed = false
        var written = Instant.distantPast
    }

    private let path: String
    /// What waits is one writing at most.
    let lane: DiskLane
    private let state = Guarded(State())
    private let logger: Logger

    /// - Parameter limit: how long the server's end waits for the disk.
    init(_ path: String, logger: Logger, limit: Duration = .seconds(5)) {
        self.path = path
        lane = DiskLane("rooms file", most: 4, limit: limit)
        self.logger = logger
    }

    /// Reads what an earlier run has left; nothing where there is no file, or none that can be read.
    func read() -> [Entry] {
        guard access(path, F_OK) == 0 || errno != ENOENT else { return [] }
        guard let data = FileManager.default.contents(atPath: path), data.count <= Self.maxBytes,
            let contents = try? JSONDecoder().decode(Contents.self, from: data)
        else {
            logger.warning(
                "the hosts of earlier rooms cannot be read, and have to be named anew", metadata: ["file": "\(path)"])
            return []
        }
        return contents.rooms
    }

    /// Notes that the file is to be written. Does not wait; called with a room's lock held.
    func changed() { state.withLock { $0.isChanged = true } }

    /// Whether it is time to write: the caller then collects the entries, and calls `write`.
    func isDue(at now: Instant) -> Bool {
        state.withLock { state in
            guard state.isChanged, !state.isWriting, now - state.written >= Self.period else { return false }
            (state.isChanged, state.isWriting, state.written) = (false, true, now)
            return true
        }
    }

    func write(_ entries: [Entry]) {
        lane.submit(replacing: "write") { [self] in
            let fault = store(entries)
            let isNew = state.withLock { state in
                defer { (state.isWriting, state.hasFailed) = (false, fault != nil) }
                return fault != nil && !state.hasFailed
            }
            if isNew, let fault {
                logger.warning(
                    "the hosts of rooms are not stored, and have to be named anew after a restart",
                    metadata: ["file": "\(path)", "reason": "\(fault)"])
            }
        }
    }

    /// Waits until what was passed to `write` is on the disk, or until the disk has not answered for too long.
    func flush() async {
        do throws(DiskLane.Refusal) {
            try await lane.run {}
        } catch {
            logger.warning(
                "the hosts of rooms may have to be named anew: the disk does not answer", metadata: ["file": "\(path)"])
        }
    }

    /// Returns why it could not be done.
    private func store(_ entries: [Entry]) -> String? {
        do {
            let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            try WholeFile.replace(path, with: JSONEncoder().encode(Contents(rooms: entries)), mode: 0o600)
            return nil
        } catch {
            return "\(error)"
        }
    }
}
