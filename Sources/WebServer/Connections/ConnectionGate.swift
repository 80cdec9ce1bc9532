package import Basics

/// Limits HTTP and signalling connections, in total and for each address, and closes expendable ones at the limit.
///
/// A new connection matters more than a silent one: a refused client cannot even request `/healthz`. So at a limit the
/// gate closes connections without a request yet, the oldest first, then those between two requests, then signalling
/// outside of rooms. Where there are none, it closes connections that wait for their answer (a poll waits up to half a
/// minute), of the address that has most connections, but only for one that has fewer. Else the new one is refused.
///
/// A tenth of all connections is kept for addresses that have none: a client that comes with one finds a place while
/// others hold as many as they may. Here an address is an IPv4 address or an IPv6 /48.
///
/// The gate also limits the bytes that wait for readers, at most one answer or an outbox of messages per connection:
/// beyond the limit it closes the connections whose readers have taken nothing for the longest time.
package final class ConnectionGate: Sendable {
    /// The phase of a connection, the most expendable first.
    package enum Phase: Int, Sendable, Comparable {
        /// No whole request yet.
        case silent
        /// Between two requests.
        case idle
        /// A WebSocket outside of any room.
        case outside
        /// A request was read, and its answer has not begun.
        case waiting
        /// A request is being read or answered, or the client is in a room.
        case busy

        package static func < (first: Phase, second: Phase) -> Bool { first.rawValue < second.rawValue }
    }

    /// Why the server ended a connection; the label of the metric.
    package enum Ending: String, Sendable, CaseIterable {
        case evicted, tls, head, body, idle, stalled, unjoined, pipelined, unsent, bodySize = "body_size"
    }

    /// The limit of bytes that wait for all readers together. One address can hold some 80 MB: 256 connections with the
    /// longest list each.
    static let maxUnsent = 256 << 20

    /// One connection's entry in the gate, removed by `close`.
    package final class Ticket: Sendable {
        fileprivate let id: UInt64
        private let gate: ConnectionGate

        fileprivate init(id: UInt64, gate: ConnectionGate) {
            self.id = id
            self.gate = gate
        }

        package func become(_ phase: Phase) { gate.change(id, phase) }
        /// Notes that more bytes wait for the reader. May end connections, including this one.
        package func queued(_ bytes: Int) { if bytes > 0 { gate.queued(id, bytes) } }
        /// Notes that waiting bytes have left, or never will.
        package func sent(_ bytes: Int) { if bytes > 0 { gate.sent(id, bytes) } }
        package func count(_ ending: Ending) { gate.count(ending) }
        package func close() { gate.close(id) }
    }

    fileprivate struct Connection {
        var address: IPAddress?
        var phase = Phase.silent
        /// The count of the gate's changes at this connection's last change: the smaller, the longer ago.
        var since: UInt64
        /// Bytes that wait for the reader, and the count at which the reader last took some.
        var unsent = 0
        var moved: UInt64 = 0
        var end: @Sendable () -> Void
    }

    fileprivate struct State {
        var tally: AddressTally
        /// The places for addresses that have none.
        let kept: Int
        var connections: [UInt64: Connection] = [:]
        var ofAddress: [IPAddress: Set<UInt64>] = [:]
        var ofSite: [IPAddress: Int] = [:]
        /// The connections that `spare` may remove.
        var expendable = 0
        var clock: UInt64 = 0
        var unsent = 0
        var endings: [Ending: Int] = [:]
    }

    private let state: Guarded<State>
    /// How many connections are closed at once at the total limit, so that a flood does not cause a search through all
    /// of them for each new one.
    private let batch: Int
    private let maxUnsent: Int
    private let trustedProxies: [IPNetwork]

    /// - Parameter isFair: whether addresses share the connections; nodes of a cluster carry those of many clients.
    package init(
        connections: Int, perAddress: Int, maxUnsent: Int = maxUnsent, trustedProxies: [IPNetwork] = [],
        isFair: Bool = true
    ) {
        self.maxUnsent = maxUnsent
        let tally = AddressTally(limit: connections, perAddress: perAddress)
        state = Guarded(State(tally: tally, kept: isFair ? connections / 10 : 0))
        batch = max(1, connections / 64)
        self.trustedProxies = trustedProxies
    }

    /// Adds a connection, or returns the limit that refuses it.
    ///
    /// - Parameters:
    ///   - address: the client's; connections of a trusted proxy, which carry many clients, count only in total.
    ///   - end: closes the connection; called from any thread.
    package func open(_ address: IPAddress?, end: @escaping @Sendable () -> Void) -> Result<Ticket, Refused> {
        let key = address.flatMap { address in
            trustedProxies.contains { $0.contains(address) } ? nil : address.clientPrefix
        }
        let (result, spared) = state.withLock { state in
            var spared: [Connection] = []
            switch state.refusal(of: key) {
            case .address?: spared = state.spare(key, upTo: 1)
            case .total?:
                spared = state.spare(nil, upTo: batch, for: key)
                if spared.isEmpty, state.kept > 0 { spared = state.spareWaiting(for: key, upTo: batch) }
            case nil: break
            }
            // Who takes the place of another needs none of the kept ones.
            if let refusal = spared.isEmpty ? state.refusal(of: key) : state.tally.refusal(of: key) {
                state.tally.refuse(refusal)
                return (Result<Ticket, Refused>.failure(Refused(reason: refusal)), spared)
            }
            if let refusal = state.tally.add(key) {
                return (Result<Ticket, Refused>.failure(Refused(reason: refusal)), spared)
            }
            state.clock += 1
            let id = state.clock
            state.connections[id] = Connection(address: key, since: id, end: end)
            state.expendable += 1
            if let key {
                state.ofAddress[key, default: []].insert(id)
                state.ofSite[key.site, default: 0] += 1
            }
            return (.success(Ticket(id: id, gate: self)), spared)
        }
        for connection in spared { connection.end() }
        return result
    }

    package struct Refused: Error, Equatable {
        var reason: AddressTally.Refusal
    }

    private func change(_ id: UInt64, _ phase: Phase) {
        state.withLock { state in
            state.clock += 1
            guard let old = state.connections[id]?.phase else { return }
            state.connections[id]?.since = state.clock
            state.connections[id]?.phase = phase
            state.expendable += (phase < .waiting ? 1 : 0) - (old < .waiting ? 1 : 0)
        }
    }

    private func queued(_ id: UInt64, _ bytes: Int) {
        let ended = state.withLock { state in
            guard state.connections[id] != nil else { return [Connection]() }
            state.clock += 1
            state.queue(id, bytes)
            return state.unsent > maxUnsent ? state.relieve(to: maxUnsent - maxUnsent / 16) : []
        }
        for connection in ended { connection.end() }
    }

    private func sent(_ id: UInt64, _ bytes: Int) {
        state.withLock { state in
            guard state.connections[id] != nil else { return }
            state.clock += 1
            state.queue(id, -bytes)
        }
    }

    private func close(_ id: UInt64) { state.withLock { _ = $0.remove(id) } }

    package func count(_ ending: Ending) { state.withLock { $0.endings[ending, default: 0] += 1 } }

    package var samples: [MetricSample] {
        let (tally, unsent, endings) = state.withLock { ($0.tally, $0.unsent, $0.endings) }
        return tally.samples("connections") + MetricSample.limit("unsent_bytes", of: maxUnsent, current: unsent)
            + Ending.allCases.map { ending in
                MetricSample(
                    "tessera_http_connections_ended_total",
                    "Connections closed to make room (evicted, unsent), or for what the client did, or did not do in time.",
                    .counter,
                    Double(endings[ending] ?? 0), labels: ["reason": ending.rawValue])
            }
    }
}

extension ConnectionGate.State {
    /// Adds to the bytes that wait for a reader, or subtracts those that left.
    fileprivate mutating func queue(_ id: UInt64, _ bytes: Int) {
        guard var connection = connections[id] else { return }
        if bytes < 0 || connection.unsent == 0 { connection.moved = clock }
        connection.unsent += bytes
        unsent += bytes
        connections[id] = connection
    }

    /// Removes the connections whose readers have taken nothing for the longest time, until no more than `limit` bytes
    /// wait.
    fileprivate mutating func relieve(to limit: Int) -> [ConnectionGate.Connection] {
        var ended: [ConnectionGate.Connection] = []
        for (id, _) in connections.filter({ $0.value.unsent > 0 }).sorted(by: { $0.value.moved < $1.value.moved }) {
            guard unsent > limit else { break }
            if let connection = remove(id) { ended.append(connection) }
        }
        endings[.unsent, default: 0] += ended.count
        return ended
    }

    /// Why one more of an address may not come: the kept tenth is for those that have none, and for proxies.
    fileprivate func refusal(of key: IPAddress?) -> AddressTally.Refusal? {
        if let refusal = tally.refusal(of: key) { return refusal }
        guard kept > 0, let key, ofSite[key.site, default: 0] > 0 else { return nil }
        return tally.count >= tally.limit - kept ? .total : nil
    }

    /// Removes up to `count` connections that wait for their answers, the oldest of the site that has most connections;
    /// none for a newcomer whose site would have as many then.
    fileprivate mutating func spareWaiting(for key: IPAddress?, upTo count: Int) -> [ConnectionGate.Connection] {
        let own = key.map { ofSite[$0.site, default: 0] } ?? 0
        // Refusals of a flood cost no look at each connection.
        guard let largest = ofSite.values.max(), largest > own + 1 else { return [] }
        var waiting: [IPAddress: [(id: UInt64, since: UInt64)]] = [:]
        for (id, connection) in connections where connection.phase == .waiting {
            if let site = connection.address?.site { waiting[site, default: []].append((id, connection.since)) }
        }
        guard let most = waiting.keys.max(by: { ofSite[$0] ?? 0 < ofSite[$1] ?? 0 }),
            let held = ofSite[most], held > own + 1
        else { return [] }
        let oldest = (waiting[most] ?? []).sorted { $0.since < $1.since }
        let chosen = oldest.prefix(min(count, held - own - 1))
        endings[.evicted, default: 0] += chosen.count
        return chosen.compactMap { remove($0.id) }
    }

    /// Removes up to `count` expendable connections, of `address` or of all, but none of a site that has fewer than the
    /// newcomer's.
    fileprivate mutating func spare(
        _ address: IPAddress?, upTo count: Int, for newcomer: IPAddress? = nil
    ) -> [ConnectionGate.Connection] {
        guard expendable > 0 else { return [] }
        let own = newcomer.map { ofSite[$0.site, default: 0] } ?? 0
        let candidates = address.map { Array(ofAddress[$0] ?? []) } ?? Array(connections.keys)
        let sparable = candidates.compactMap { id in
            connections[id].flatMap { connection in
                let held = connection.address.map { ofSite[$0.site, default: 0] } ?? own
                return connection.phase >= .waiting || held < own
                    ? nil : (id: id, phase: connection.phase, since: connection.since)
            }
        }
        let chosen =
            count == 1
            ? sparable.min { ($0.phase, $0.since) < ($1.phase, $1.since) }.map { [$0] } ?? []
            : Array(sparable.sorted { ($0.phase, $0.since) < ($1.phase, $1.since) }.prefix(count))
        endings[.evicted, default: 0] += chosen.count
        return chosen.compactMap { remove($0.id) }
    }

    fileprivate mutating func remove(_ id: UInt64) -> ConnectionGate.Connection? {
        guard let connection = connections.removeValue(forKey: id) else { return nil }
        tally.remove(connection.address)
        if connection.phase < .waiting { expendable -= 1 }
        unsent -= connection.unsent
        if let key = connection.address {
            ofAddress[key]?.remove(id)
            if ofAddress[key]?.isEmpty == true { ofAddress[key] = nil }
            ofSite[key.site, default: 1] -= 1
            if ofSite[key.site] == 0 { ofSite[key.site] = nil }
        }
        return connection
    }
}
