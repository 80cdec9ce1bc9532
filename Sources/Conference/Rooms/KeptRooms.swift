import Basics
import FoundationEssentials

/// What is kept of rooms that have ended, for a time. A value; time is an argument.
struct KeptRooms: Sendable {
    /// The most rooms. They are shared among the addresses whose clients made the rooms (`FairShare`), so that nobody
    /// makes rooms until another one's hosts are forgotten.
    static let limit = 4096

    private struct Entry {
        var room: KeptRoom
        /// Until when the keys of the hosts are good, and the last guest link.
        var hostsUntil: Instant
        var until: Instant
    }

    private var entries: [String: Entry] = [:]
    private var places = FairShare<String>(total: limit)

    var count: Int { entries.count }

    /// A room has ended.
    ///
    /// - Parameters:
    ///   - address: of the client that made it; nil: unknown.
    ///   - hostsLife: how long the keys of its hosts are good from now.
    ///   - date: the present time, by which guest links end.
    mutating func keep(
        _ room: KeptRoom, of id: String, for address: IPAddress?, hostsLife: Duration = Hosts.keep, at now: Instant,
        _ date: Date = Date()
    ) {
        forget(id, at: now)
        let hostsUntil = now + min(room.hosts.isEmpty ? .zero : hostsLife, Hosts.keep)
        let until = max(hostsUntil, now + room.links.life(at: date))
        guard until > now else { return }
        expire(at: now)
        switch places.claim(id, from: address, at: now) {
        case .taken: break
        case .displaced(let other, _): entries[other] = nil
        case .refused: return
        }
        entries[id] = Entry(room: room, hostsUntil: hostsUntil, until: until)
    }

    /// What is kept for a room that begins now. People wait for its hosts until these would have been forgotten.
    mutating func take(_ id: String, at now: Instant) -> KeptRoom? {
        guard let entry = entries[id] else { return nil }
        forget(id, at: now)
        guard now < entry.until else { return nil }
        var room = Self.good(entry, at: now)
        if !room.hosts.isEmpty { room.hosts.wait(until: entry.hostsUntil) }
        return room
    }

    private static func good(_ entry: Entry, at now: Instant) -> KeptRoom {
        now < entry.hostsUntil ? entry.room : KeptRoom(links: entry.room.links)
    }

    private mutating func forget(_ id: String, at now: Instant) {
        if entries.removeValue(forKey: id) != nil { places.release(id, at: now) }
    }

    private mutating func expire(at now: Instant) {
        guard entries.count >= Self.limit else { return }
        for id in entries.filter({ $0.value.until <= now }).keys { forget(id, at: now) }
    }

    /// What is kept of a room, and for how long from now.
    func room(_ id: String, at now: Instant) -> Kept? { entries[id].flatMap { Self.kept(id, $0, at: now) } }

    /// All that is kept, and for how long from now.
    func all(at now: Instant) -> [Kept] { entries.compactMap { Self.kept($0, $1, at: now) } }

    struct Kept {
        var id: String
        var room: KeptRoom
        var hostsLife: Duration
        var life: Duration
    }

    private static func kept(_ id: String, _ entry: Entry, at now: Instant) -> Kept? {
        guard now < entry.until else { return nil }
        return Kept(
            id: id, room: good(entry, at: now), hostsLife: max(entry.hostsUntil - now, .zero), life: entry.until - now)
    }
}
