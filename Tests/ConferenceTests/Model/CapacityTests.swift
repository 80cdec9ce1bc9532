import Basics
import Foundation
import Synchronization
import Testing

@testable import Conference

@Suite("Capacity")
struct CapacityTests {
    private func client(_ last: UInt32) -> JoinClient { JoinClient(address: .v4(0xC0_00_02_00 | last)) }

    private func capacity() -> Capacity {
        var limits = ConferenceConfiguration.Limits()
        (limits.seats, limits.seatsPerAddress) = (5, 2)
        (limits.rooms, limits.roomsPerAddress) = (2, 1)
        return Capacity(limits)
    }

    @Test("one address and all together are limited, and an end frees a place")
    func shares() throws {
        var capacity = capacity()
        for _ in 0..<2 { try capacity.add(.seats, of: client(1)) }
        #expect { try capacity.add(.seats, of: client(1)) } throws: {
            guard case ConferenceError.tooFast(let text, let wait) = $0 else { return false }
            return text.contains("2 people") && wait == .seconds(30)
        }
        for number in 2...4 as ClosedRange<UInt32> { try capacity.add(.seats, of: client(number)) }
        #expect { try capacity.add(.seats, of: client(5)) } throws: {
            if case ConferenceError.atCapacity = $0 { true } else { false }
        }
        #expect(throws: ConferenceError.self, "without an address in all alone") {
            try capacity.add(.seats, of: JoinClient())
        }
        capacity.remove(.seats, of: client(1))
        try capacity.add(.seats, of: client(1))
        #expect(capacity.count(.seats) == 5 && capacity.count(.rooms) == 0)
    }

    @Test("the metrics have limit, use and refusals")
    func metrics() throws {
        var capacity = capacity()
        try capacity.add(.rooms, of: client(1))
        _ = try? capacity.add(.rooms, of: client(1))
        func value(_ name: String, _ labels: [String: String]) -> Double? {
            capacity.samples.first { $0.name == name && $0.labels == labels }?.value
        }
        #expect(
            value("tessera_limit", ["name": "rooms"]) == 2 && value("tessera_limit", ["name": "rooms_per_address"]) == 1
        )
        #expect(value("tessera_limited_current", ["name": "rooms"]) == 1)
        #expect(value("tessera_limit_refusals_total", ["name": "rooms", "reason": "address"]) == 1)
        #expect(value("tessera_limit_refusals_total", ["name": "rooms", "reason": "total"]) == 0)
        #expect(value("tessera_limited_current", ["name": "half_open"]) == 0)
    }

    @Test("requests beyond the allowance get the time to wait", arguments: RatedRequest.allCases)
    func allowance(request: RatedRequest) throws {
        var now = Instant(nanoseconds: 1_000_000_000)
        var allowance = SeatAllowance()
        let (rate, size) = request.allowance
        for _ in 0..<Int(size) { try allowance.take(request, at: now) }
        var wait = Duration.zero
        do throws(ConferenceError) { try allowance.take(request, at: now) } catch { wait = error.retryAfter ?? .zero }
        #expect(wait > .zero && wait.inSeconds <= 1 / rate + 0.001)
        now += wait
        try allowance.take(request, at: now)
        #expect(throws: ConferenceError.self) { try allowance.take(request, at: now) }
        for other in RatedRequest.allCases where other != request { try allowance.take(other, at: now) }
    }
}

@Suite("EventMailbox")
struct EventMailboxTests {
    private func chat(_ text: String) -> ParticipantEvent {
        .chat(ChatMessage(id: "1", from: "a", fromName: "A", to: nil, text: text, at: .init(timeIntervalSince1970: 0)))
    }

    private func name(_ event: ParticipantEvent) -> String {
        switch event {
        case .chat(let chat): chat.text
        case .speaker(let id): "speaker \(id ?? "-")"
        case .layout(let shown): "layout \(shown.name)"
        default: "\(event)"
        }
    }

    private final class Seen: Sendable {
        let names = Guarded<[String]>([])
    }

    @Test("of each state the newest event stays, in its place among the rest")
    func states() {
        let (seen, counters) = (Seen(), EventCounters())
        let mailbox = EventMailbox(counters: counters) { event in
            seen.names.withLock { $0.append(self.name(event.event)) }
        }
        #expect(mailbox.put(.speaker("a")), "the first must be fetched")
        #expect(!mailbox.put(chat("one")))
        for name in ["grid", "speaker", "single"] { #expect(!mailbox.put(.layout(ShownLayout(name: name)))) }
        #expect(!mailbox.put(.speaker("b")))
        #expect(!mailbox.run())
        #expect(seen.names.withLock { $0 } == ["one", "layout single", "speaker b"])
        #expect(counters.replaced.load(ordering: .relaxed) == 3 && counters.dropped.load(ordering: .relaxed) == 0)
        #expect(mailbox.put(.speaker("c")), "fetched anew")
    }

    @Test("the oldest messages are dropped, by number and by bytes, and states stay")
    func messages() {
        let (seen, counters) = (Seen(), EventCounters())
        let mailbox = EventMailbox(counters: counters) { event in
            seen.names.withLock { $0.append(self.name(event.event)) }
        }
        _ = mailbox.put(.layout(ShownLayout(name: "grid")))
        for number in 0..<1000 { _ = mailbox.put(chat("\(number)")) }
        _ = mailbox.run()
        #expect(seen.names.withLock { $0 }.count == EventMailbox.limit + 1)
        #expect(seen.names.withLock { $0 }.first == "layout grid" && seen.names.withLock { $0 }.last == "999")
        #expect(counters.dropped.load(ordering: .relaxed) == 1000 - EventMailbox.limit)
        seen.names.withLock { $0.removeAll() }
        let large = String(repeating: "x", count: EventMailbox.byteLimit / 4)
        for _ in 0..<20 { _ = mailbox.put(chat(large)) }
        _ = mailbox.run()
        #expect(seen.names.withLock { $0 }.count == 4)
    }
}

extension EventMailbox {
    fileprivate func put(_ event: ParticipantEvent) -> Bool { put(SharedEvent(event)) }
}
