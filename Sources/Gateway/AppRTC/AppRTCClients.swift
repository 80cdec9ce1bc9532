import Basics
import Cryptography
import Threads

/// The clients of AppRTC endpoints, by their ids.
///
/// The id in a request's path is all that proves a client, and has eight digits only: who tries ids is slowed down.
final class AppRTCClients: Sendable {
    /// Unknown ids of one address, a second and at once. A client asks a few times for an id that has ended.
    private static let (guessRate, guessBurst) = (1.0, 60.0)

    private let clients = Guarded<[String: AppRTCClient]>([:])
    private let guesses: BucketTable<IPAddress>

    init(at now: Instant) {
        guesses = BucketTable(rate: Self.guessRate, burst: Self.guessBurst, at: now)
    }

    var count: Int { clients.withLock { $0.count } }

    /// Adds a client, with an id that no other has.
    func add(room: String, address: IPAddress?) -> AppRTCClient {
        var random = SystemRandomNumberGenerator()
        let secret = (0..<2).map { _ in String(UInt64.random(in: .min ... .max, using: &random), radix: 36) }.joined()
        return clients.withLock { clients in
            var id: String
            repeat {
                id = String(Int.random(in: 10_000_000...99_999_999, using: &random))
            } while clients[id] != nil
            let client = AppRTCClient(id: id, room: room, address: address, secret: secret) { [weak self] client in
                self?.remove(client)
            }
            clients[id] = client
            return client
        }
    }

    func remove(_ client: AppRTCClient) { clients.withLock { $0[client.id] = nil } }

    /// The client of a request; nil if it is unknown, or if the request comes from an address that tried too many
    /// unknown ids. The address from which a client joined may always ask for it.
    func find(_ id: String, in room: String, from address: IPAddress?, at now: Instant) -> AppRTCClient? {
        find(id, from: address, at: now) { $0.room == room }
    }

    /// The client of an `ice_server_url`'s key, `ID-SECRET`.
    func find(key: String, from address: IPAddress?, at now: Instant) -> AppRTCClient? {
        let parts = key.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        return find(String(parts[0]), from: address, at: now) { isEqual($0.secret, String(parts[1])) }
    }

    private func find(
        _ id: String, from address: IPAddress?, at now: Instant, _ matches: (AppRTCClient) -> Bool
    ) -> AppRTCClient? {
        let prefix = address?.clientPrefix ?? .v4(0)
        let found = clients.withLock { $0[id] }.flatMap { matches($0) ? $0 : nil }
        if let found, (found.address?.clientPrefix ?? .v4(0)) == prefix { return found }
        guard guesses.take(prefix, at: now) == .zero else { return nil }
        if found != nil { guesses.refund(prefix, at: now) }
        return found
    }
}
