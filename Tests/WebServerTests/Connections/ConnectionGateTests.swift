import Basics
import Testing

@testable import WebServer

@Suite struct ConnectionGateTests {
    /// Records the connections that were ended.
    private final class Ended: Sendable {
        let names = Guarded<[String]>([])
        var all: [String] { names.withLock { $0 } }
        func note(_ name: String) { names.withLock { $0.append(name) } }
    }

    private let ended = Ended()

    private func open(_ gate: ConnectionGate, _ name: String, _ address: String = "192.0.2.1") -> ConnectionGate.Ticket?
    {
        try? gate.open(IPAddress(address)) { [ended] in ended.note(name) }.get()
    }

    private func value(_ gate: ConnectionGate, _ name: String, _ labels: [String]) -> Double? {
        gate.samples.first { $0.name == name && Set($0.labels.values) == Set(labels) }?.value
    }

    private func count(_ gate: ConnectionGate) -> Int {
        Int(value(gate, "tessera_limited_current", ["connections"]) ?? -1)
    }
    private func unsent(_ gate: ConnectionGate) -> Double? { value(gate, "tessera_limited_current", ["unsent_bytes"]) }

    @Test
    func
        `a full gate closes the oldest silent connection, then idle ones, then those outside of rooms, no busy one`()
        throws
    {
        let gate = ConnectionGate(connections: 4, perAddress: 4)
        let busy = try #require(open(gate, "busy"))
        busy.become(.busy)
        try #require(open(gate, "idle")).become(.idle)
        try #require(open(gate, "outside")).become(.outside)
        _ = open(gate, "silent")
        for name in ["a", "b", "c"] { try #require(open(gate, name)).become(.busy) }
        #expect(ended.all == ["silent", "idle", "outside"])
        #expect(open(gate, "one too many") == nil)
        #expect(count(gate) == 4)
        busy.close()
        #expect(open(gate, "next") != nil)
    }

    @Test func `a flood of silent connections never refuses a newcomer`() {
        let gate = ConnectionGate(connections: 128, perAddress: 96)
        for number in 0..<10_000 {
            let ticket = open(gate, "\(number)", "192.0.2.\(number % 3)")
            #expect(ticket != nil)
            #expect(count(gate) <= 128)
        }
        #expect(ended.all.count >= 10_000 - 128)
    }

    @Test func `one address makes room for itself only`() throws {
        let gate = ConnectionGate(connections: 100, perAddress: 2)
        _ = open(gate, "other", "192.0.2.2")
        for name in ["a", "b", "c"] { _ = open(gate, name) }
        #expect(ended.all == ["a"])
        #expect(count(gate) == 3)
    }

    @Test func `a connection's place is freed once, however the connection ended`() throws {
        let gate = ConnectionGate(connections: 1, perAddress: 1)
        let first = try #require(open(gate, "first"))
        _ = open(gate, "second")
        #expect(ended.all == ["first"])
        first.close()
        #expect(count(gate) == 1)
    }

    @Test func `a trusted proxy has no limit of its own`() {
        let gate = ConnectionGate(
            connections: 100, perAddress: 2, trustedProxies: ["10.0.0.0/8"].compactMap { IPNetwork($0) })
        for number in 0..<50 { #expect(open(gate, "\(number)", "10.0.0.1") != nil) }
        #expect(ended.all.isEmpty && count(gate) == 50)
    }

    @Test
    func `beyond the limit of waiting bytes the readers that took nothing for the longest time end`()
        throws
    {
        let gate = ConnectionGate(connections: 10, perAddress: 10, maxUnsent: 1600)
        let (stuck, slow, quick) = (
            try #require(open(gate, "stuck")), try #require(open(gate, "slow")), try #require(open(gate, "quick"))
        )
        slow.queued(500)
        stuck.queued(500)
        slow.sent(100)
        quick.queued(600)
        #expect(ended.all.isEmpty && unsent(gate) == 1500)
        quick.queued(101)
        #expect(ended.all == ["stuck"], "the slow one took some since")
        #expect(unsent(gate) == 1101)
        stuck.sent(500)
        stuck.close()
        #expect(unsent(gate) == 1101, "what it waited with was given back with it")
        quick.sent(701)
        slow.close()
        #expect(unsent(gate) == 0 && count(gate) == 1)
        #expect(gate.samples.contains { $0.labels["reason"] == "unsent" && $0.value == 1 })
    }

    @Test func `two hundred readers that take nothing never hold more than the limit together`() {
        let gate = ConnectionGate(connections: 1000, perAddress: 1000, maxUnsent: 1 << 20)
        let tickets = (0..<200).compactMap { open(gate, "\($0)") }
        for _ in 0..<50 { for ticket in tickets { ticket.queued(1000) } }
        #expect(tickets.count == 200 && unsent(gate) ?? .infinity <= 1_048_576)
        #expect(Set(ended.all).count == ended.all.count && ended.all.count == 200 - count(gate))
    }

    @Test func `refused and closed connections are counted`() {
        let gate = ConnectionGate(connections: 10, perAddress: 1)
        open(gate, "a")?.become(.busy)
        #expect(open(gate, "b") == nil)
        gate.count(.head)
        #expect(
            value(gate, "tessera_limit", ["connections"]) == 10
                && value(gate, "tessera_limit", ["connections_per_address"]) == 1)
        #expect(value(gate, "tessera_limited_current", ["connections"]) == 1)
        let refused = ["total", "address"].map { value(gate, "tessera_limit_refusals_total", ["connections", $0]) }
        #expect(refused == [0, 1])
        #expect(value(gate, "tessera_http_connections_ended_total", ["head"]) == 1)
    }

    @Test func `a connection that makes room for another is not counted as refused`() {
        let gate = ConnectionGate(connections: 1, perAddress: 1)
        for name in ["a", "b", "c"] { _ = open(gate, name) }
        let refused = ["total", "address"].map { value(gate, "tessera_limit_refusals_total", ["connections", $0]) }
        #expect(refused == [0, 0])
        #expect(value(gate, "tessera_http_connections_ended_total", ["evicted"]) == 2)
    }

    // MARK: Shares

    /// Strangers hold every connection with requests that wait: from five addresses, 60, or the /64 of a /48.
    enum Strangers: String, CaseIterable, CustomTestStringConvertible {
        case five, sixty, network
        func address(_ number: Int) -> String {
            switch self {
            case .five: "203.0.113.\(number % 5)"
            case .sixty: "203.0.113.\(number % 60)"
            case .network: "2001:db8:1:\(String(number % 65_536, radix: 16))::1"
            }
        }
        var testDescription: String { rawValue }
    }

    @Test(arguments: Strangers.allCases)
    func `friends connect while strangers hold all that wait`(strangers: Strangers) {
        let gate = ConnectionGate(connections: 200, perAddress: 64)
        var (asked, refused) = (0, 0)
        for number in 0..<3000 {
            open(gate, "stranger", strangers.address(number))?.become(.waiting)
            guard number % 10 == 0 else { continue }
            asked += 1
            // A page opens two connections, and closes them when it has its files.
            let address = "10.0.\(asked / 250).\(asked % 250)"
            let own = (0..<2).compactMap { _ in
                let ticket = open(gate, "friend", address)
                ticket?.become(.busy)
                return ticket
            }
            if own.count < 2 { refused += 1 }
            for ticket in own { ticket.close() }
        }
        #expect(Double(asked - refused) >= 0.99 * Double(asked), "\(refused) of \(asked)")
        #expect(!ended.all.contains("friend"))
    }

    @Test func `a tenth is for addresses that have none, and an answer that has begun is never ended`() {
        let gate = ConnectionGate(connections: 100, perAddress: 100)
        for number in 0..<100 { open(gate, "busy", "203.0.113.\(number % 2)")?.become(.busy) }
        #expect(count(gate) == 90 && ended.all.isEmpty)
        #expect(open(gate, "one more", "203.0.113.1") == nil)
        for number in 0..<10 {
            let ticket = open(gate, "new", "198.51.100.\(number)")
            ticket?.become(.busy)
            #expect(ticket != nil)
        }
        #expect(open(gate, "late", "198.51.100.77") == nil && ended.all.isEmpty)
    }
}
