import Basics
import Synchronization

/// Counts HTTP and signalling connections, in all and for each address, and makes room when there are too many.
///
/// A new connection is worth more than one that has been silent: who is refused at the door cannot even ask whether the server lives.
/// So at a cap the gate closes those that did not ask for anything yet, the oldest first, then those that wait between two requests,
/// then signalling that is in no room. Only where all do something the new one is refused.
final class ConnectionGate: Sendable {
    /// What a connection is doing, from what can be spared to what cannot.
    enum Phase: Int, Sendable, Comparable {
        /// No whole request yet.
        case silent
        /// Between two requests.
        case idle
        /// A WebSocket in no room.
        case outside
        /// A request is being read or answered, or somebody sits in a room.
        case busy

        static func < (first: Phase, second: Phase) -> Bool { first.rawValue < second.rawValue }
    }

    /// Why a connection was ended by us, or not taken; the label of the metric.
    enum Ending: String, Sendable, CaseIterable {
        case total, address, evicted, tls, head, body, idle, stalled, unjoined, bodySize = "body_size"
    }

    /// One connection's place. It is given back by `close`, once.
    final class Ticket: Sendable {
        fileprivate let id: UInt64
        private let gate: ConnectionGate

        fileprivate init(id: UInt64, gate: ConnectionGate) {
            self.id = id
            self.gate = gate
        }

        func become(_ phase: Phase) { gate.change(id, phase) }
        func count(_ ending: Ending) { gate.count(ending) }
        func close() { gate.close(id) }
    }

    fileprivate struct Connection {
        var address: IPAddress?
        var phase = Phase.silent
        /// Grows with each change of any connection: the smaller, the longer ago.
        var since: UInt64
        var end: @Sendable () -> Void
    }

    fileprivate struct State {
        var tally: AddressTally
        var connections: [UInt64: Connection] = [:]
        var ofAddress: [IPAddress: Set<UInt64>] = [:]
        var clock: UInt64 = 0
        var endings: [Ending: Int] = [:]
    }

    private let state: Mutex<State>
    /// How many are closed at once where the cap of all is reached, so that a flood does not make us look through all for each of its own.
    private let batch: Int
    private let trustedProxies: [IPNetwork]

    init(connections: Int, perAddress: Int, trustedProxies: [IPNetwork] = []) {
        state = Mutex(State(tally: AddressTally(limit: connections, perAddress: perAddress)))
        batch = max(1, connections / 64)
        self.trustedProxies = trustedProxies
    }

    /// Takes a connection in, or says which cap keeps it out.
    ///
    /// - Parameters:
    ///   - address: a trusted proxy brings many people, and counts in all only.
    ///   - end: closes the connection; called from any thread.
    func open(_ address: IPAddress?, end: @escaping @Sendable () -> Void) -> Result<Ticket, Refused> {
        let key = address.flatMap { address in trustedProxies.contains { $0.contains(address) } ? nil : address.clientPrefix }
        let (result, spared) = state.withLock { state in
            var spared: [Connection] = []
            var refusal = state.tally.add(key)
            if let reason = refusal {
                spared = state.spare(reason == .address ? key : nil, upTo: reason == .address ? 1 : batch)
                if !spared.isEmpty { refusal = state.tally.add(key) }
            }
            if let refusal {
                state.endings[refusal == .total ? .total : .address, default: 0] += 1
                return (Result<Ticket, Refused>.failure(Refused(reason: refusal)), spared)
            }
            state.clock += 1
            let id = state.clock
            state.connections[id] = Connection(address: key, since: id, end: end)
            if let key { state.ofAddress[key, default: []].insert(id) }
            return (.success(Ticket(id: id, gate: self)), spared)
        }
        for connection in spared { connection.end() }
        return result
    }

    struct Refused: Error, Equatable {
        var reason: AddressTally.Refusal
    }

    private func change(_ id: UInt64, _ phase: Phase) {
        state.withLock { state in
            state.clock += 1
            state.connections[id]?.since = state.clock
            state.connections[id]?.phase = phase
        }
    }

    private func close(_ id: UInt64) { state.withLock { _ = $0.remove(id) } }

    func count(_ ending: Ending) { state.withLock { $0.endings[ending, default: 0] += 1 } }

    var lines: [MetricLine] {
        let (count, limit, endings) = state.withLock { ($0.tally.count, $0.tally.limit, $0.endings) }
        let gauges = [
            MetricLine(name: "tessera_http_connections", help: "Open HTTP and signalling connections.", kind: .gauge, value: Double(count)),
            MetricLine(
                name: "tessera_limit_connections", help: "How many HTTP and signalling connections there may be.", kind: .gauge,
                value: Double(limit)),
        ]
        return gauges
            + Ending.allCases.map { ending in
                MetricLine(
                    name: "tessera_http_connections_ended_total",
                    help: "Connections refused at a cap (total, address), closed to make room (evicted), or closed for what they did not do in time.",
                    kind: .counter, labels: [("reason", ending.rawValue)], value: Double(endings[ending] ?? 0))
            }
    }
}

extension ConnectionGate.State {
    /// Removes up to `count` of those that can be spared, of `address` or of all.
    fileprivate mutating func spare(_ address: IPAddress?, upTo count: Int) -> [ConnectionGate.Connection] {
        let candidates = address.map { Array(ofAddress[$0] ?? []) } ?? Array(connections.keys)
        let sparable = candidates.compactMap { id in
            connections[id].flatMap { $0.phase == .busy ? nil : (id: id, phase: $0.phase, since: $0.since) }
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
        if let key = connection.address {
            ofAddress[key]?.remove(id)
            if ofAddress[key]?.isEmpty == true { ofAddress[key] = nil }
        }
        return connection
    }
}
