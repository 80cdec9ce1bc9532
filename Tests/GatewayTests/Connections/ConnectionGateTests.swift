import Basics
import Synchronization
import Testing

@testable import Gateway

@Suite struct ConnectionGateTests {
    /// Remembers which connections were ended.
    private final class Ended: Sendable {
        let names = Mutex<[String]>([])
        var all: [String] { names.withLock { $0 } }
        func note(_ name: String) { names.withLock { $0.append(name) } }
    }

    private let ended = Ended()

    private func open(_ gate: ConnectionGate, _ name: String, _ address: String = "192.0.2.1") -> ConnectionGate.Ticket? {
        try? gate.open(IPAddress(address)) { [ended] in ended.note(name) }.get()
    }

    private func count(_ gate: ConnectionGate) -> Double { gate.lines.first { $0.name == "tessera_http_connections" }?.value ?? .nan }

    @Test func `a full house closes the oldest that said nothing, then who idles, then who is in no room, and never who is busy`() throws {
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

    @Test func `a flood of silent connections never keeps a newcomer out`() {
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

    @Test func `a place is given back once, however it was lost`() throws {
        let gate = ConnectionGate(connections: 1, perAddress: 1)
        let first = try #require(open(gate, "first"))
        _ = open(gate, "second")
        #expect(ended.all == ["first"])
        first.close()
        #expect(count(gate) == 1)
    }

    @Test func `a trusted proxy brings many people`() {
        let gate = ConnectionGate(connections: 100, perAddress: 2, trustedProxies: ["10.0.0.0/8"].compactMap { IPNetwork($0) })
        for number in 0..<50 { #expect(open(gate, "\(number)", "10.0.0.1") != nil) }
        #expect(ended.all.isEmpty && count(gate) == 50)
    }

    @Test func `what was refused and closed is counted`() {
        let gate = ConnectionGate(connections: 10, perAddress: 1)
        open(gate, "a")?.become(.busy)
        #expect(open(gate, "b") == nil)
        gate.count(.head)
        func value(_ reason: String) -> Double? { gate.lines.first { $0.labels.first?.1 == reason }?.value }
        #expect(value("address") == 1 && value("head") == 1 && value("total") == 0)
    }
}
