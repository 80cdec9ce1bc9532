import Admission
import Basics
import Cryptography
import Threads
import WebServer

/// The clients of AppRTC endpoints, by their ids.
///
/// The id in a request's path is all that proves a client: 128 random bits as text, which the clients repeat as they
/// got it. No other value, shown name or log line has any part of it.
///
/// Unknown ids are counted before an id is compared, by address, by room and in all; beyond these rates a right id is
/// taken from the address only from which its client joined. So neither many addresses nor one behind the client's own
/// NAT can try many ids, and trying ids keeps nobody out who stays in his network.
final class AppRTCClients: Sendable {
    private static let secretBytes = 16
    /// Unknown ids of one address, a second and at once. A client asks a few times for an id that has ended.
    private static let (addressRate, addressBurst) = (1.0, 60.0)
    /// Unknown ids of one room that has clients.
    private static let (roomRate, roomBurst) = (2.0, 120.0)
    /// Unknown ids of all rooms and addresses.
    private static let (totalRate, totalBurst) = (50.0, 1000.0)

    private struct Room {
        var clients = 0
        var unknown: TokenBucket
    }

    private struct State {
        var clients: [String: AppRTCClient] = [:]
        /// Ids by the keys of `ice_server_url`s.
        var keys: [String: String] = [:]
        var rooms: [String: Room] = [:]
        var unknown: TokenBucket
        var unknownCount = 0
    }

    private let state: Guarded<State>
    private let addresses: BucketTable<IPAddress>

    init(at now: Instant) {
        addresses = BucketTable(rate: Self.addressRate, burst: Self.addressBurst, at: now)
        state = Guarded(State(unknown: TokenBucket(rate: Self.totalRate, size: Self.totalBurst, at: now)))
    }

    var count: Int { state.withLock { $0.clients.count } }
    /// Ids that no client has, since the start.
    var unknownCount: Int { state.withLock { $0.unknownCount } }

    /// Adds a client, with an id and a key that no other has.
    func add(room: String, address: IPAddress?, at now: Instant) -> AppRTCClient {
        let (id, key) = (Self.secret(), Self.secret())
        let client = AppRTCClient(id: id, room: room, address: address, key: key) { [weak self] client in
            self?.remove(client)
        }
        state.withLock { state in
            state.clients[id] = client
            state.keys[key] = id
            let fresh = Room(unknown: TokenBucket(rate: Self.roomRate, size: Self.roomBurst, at: now))
            state.rooms[room, default: fresh].clients += 1
        }
        return client
    }

    private static func secret() -> String { Base64URL.encode(randomBytes(secretBytes)) }

    func remove(_ client: AppRTCClient) {
        state.withLock { state in
            guard state.clients.removeValue(forKey: client.id) != nil else { return }
            state.keys[client.key] = nil
            state.rooms[client.room]?.clients -= 1
            if state.rooms[client.room]?.clients == 0 { state.rooms[client.room] = nil }
        }
    }

    /// The client of a request; nil if no client of the room has the id, or if too many unknown ids were tried.
    func find(_ id: String, in room: String, from address: IPAddress?, at now: Instant) -> AppRTCClient? {
        find(from: address, in: room, at: now) { state in
            state.clients[id].flatMap { $0.room == room ? $0 : nil }
        }
    }

    /// The client of an `ice_server_url`'s key.
    func find(key: String, from address: IPAddress?, at now: Instant) -> AppRTCClient? {
        find(from: address, in: nil, at: now) { state in state.keys[key].flatMap { state.clients[$0] } }
    }

    private func find(
        from address: IPAddress?, in room: String?, at now: Instant, _ look: (State) -> AppRTCClient?
    ) -> AppRTCClient? {
        let prefix = address?.clientPrefix ?? .v4(0)
        let isOfAddress = addresses.take(prefix, at: now) == .zero
        let (found, isWithin): (AppRTCClient?, Bool) = state.withLock { state in
            let isOfAll = state.unknown.take(at: now)
            let isOfRoom = room.flatMap { state.rooms[$0]?.unknown.take(at: now) } ?? true
            guard let found = look(state) else {
                state.unknownCount += 1
                return (nil, false)
            }
            // It was no unknown one.
            if isOfAll { state.unknown.spend(-1, at: now) }
            if isOfRoom, let room { state.rooms[room]?.unknown.spend(-1, at: now) }
            return (found, isOfAll && isOfRoom)
        }
        guard let found else { return nil }
        if isOfAddress { addresses.refund(prefix, at: now) }
        let isAtHome = (found.address?.clientPrefix ?? .v4(0)) == prefix
        return isAtHome || (isOfAddress && isWithin) ? found : nil
    }

    /// The seat of some client at an address; nil: no client there has one.
    func seat(at address: IPAddress?) -> String? {
        let prefix = address?.clientPrefix
        let clients = state.withLock { $0.clients.values.filter { $0.address?.clientPrefix == prefix } }
        return clients.lazy.compactMap { $0.seat?.id }.first
    }
}
