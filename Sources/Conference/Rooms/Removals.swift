import Basics

/// Who was removed from the meetings of all rooms, by whichever endpoint: the one place that keeps them out. A value;
/// time is an argument.
///
/// A removal is of a token's `sub` where there is one. Otherwise it is of the client's address, unless others of the
/// room have the same, and of the device, where the endpoint knows it. It ends with the meeting, or when a moderator
/// lets the client in.
struct Removals: Sendable {
    enum Standing: Hashable, Sendable {
        case free
        /// A moderator has to let the client in.
        case asks
        /// The same device: it is refused, since its app comes back by itself or offers again at once.
        case staysOutside
    }

    /// The most removals of all rooms; the oldest is forgotten.
    static let limit = 4096
    /// How long a device that was removed, or whose room was ended, is refused beyond the meeting, after each try: an app
    /// that comes back by itself would make the room anew.
    static let stay = Duration.seconds(600)

    private struct Entry {
        var client: JoinClient
        var room: String
        /// nil: of a room that has ended, for the device alone.
        var meeting: String?
        var until: Instant
    }

    /// The oldest first.
    private var entries: [Entry] = []

    var count: Int { entries.count }

    /// Somebody was removed from a meeting.
    mutating func remove(_ client: JoinClient, from room: String, _ meeting: String, at now: Instant) {
        guard client.identity != nil || client.address != nil || client.device != nil else { return }
        add(Entry(client: client, room: room, meeting: meeting, until: now + Self.stay))
    }

    /// A room was ended with this client in it.
    mutating func roomEnded(_ room: String, with client: JoinClient, at now: Instant) {
        guard client.device?.comesBack == true else { return }
        add(Entry(client: client, room: room, meeting: nil, until: now + Self.stay))
    }

    /// Who was removed from a meeting, the oldest first, as it goes along to another server.
    func state(of room: String, _ meeting: String) -> [RoomState.Removal] {
        entries.filter { $0.room == room && $0.meeting == meeting }.suffix(RoomState.mostRemoved)
            .map { RoomState.Removal($0.client) }
    }

    /// A meeting goes on that was at another server.
    mutating func restore(_ state: RoomState, at now: Instant) {
        for removal in state.removed.suffix(RoomState.mostRemoved) {
            remove(JoinClient(removal), from: state.room, state.meeting, at: now)
        }
    }

    private mutating func add(_ entry: Entry) {
        entries.removeAll { $0.room == entry.room && $0.client == entry.client && $0.meeting == entry.meeting }
        entries.append(entry)
        if entries.count > Self.limit { entries.removeFirst() }
    }

    /// - Parameter meeting: of the room now; nil: there is no room.
    mutating func standing(
        of client: JoinClient, in room: String, meeting: String?, at now: Instant
    ) -> Standing {
        var standing = Standing.free
        entries.removeAll { $0.room == room && ($0.meeting == nil || $0.meeting != meeting) && $0.until <= now }
        for place in entries.indices where entries[place].room == room {
            let (entry, isOfMeeting) = (
                entries[place], entries[place].meeting != nil && entries[place].meeting == meeting
            )
            if let device = client.device, entry.client.device?.matches(device) == true {
                if device.isRefused {
                    entries[place].until = now + Self.stay
                    return .staysOutside
                }
                if isOfMeeting { standing = .asks }
            } else if isOfMeeting, Self.isSame(entry.client, client) {
                standing = .asks
            }
        }
        return standing
    }

    /// A `sub` is one person; without one an address is whoever is there.
    private static func isSame(_ removed: JoinClient, _ client: JoinClient) -> Bool {
        if removed.identity != nil || client.identity != nil { return removed.identity == client.identity }
        guard let address = removed.address?.clientPrefix else { return false }
        return address == client.address?.clientPrefix
    }

    /// A moderator has let the client in.
    mutating func lift(_ client: JoinClient, in room: String) {
        entries.removeAll { entry in
            guard entry.room == room else { return false }
            if let device = client.device, entry.client.device?.matches(device) == true { return true }
            return Self.isSame(entry.client, client)
        }
    }
}

extension RoomState.Removal {
    fileprivate init(_ client: JoinClient) {
        (identity, address) = (client.identity, client.address?.description)
        guard let known = client.device else { return }
        (device, isRefused, comesBack) = (known.keys.sorted(), known.isRefused, known.comesBack)
    }
}

extension JoinClient {
    fileprivate init(_ removal: RoomState.Removal) {
        self.init(address: removal.address.flatMap { IPAddress($0) }, identity: removal.identity)
        guard let keys = removal.device else { return }
        device = Device(Set(keys), isRefused: removal.isRefused ?? false, comesBack: removal.comesBack ?? false)
    }
}
