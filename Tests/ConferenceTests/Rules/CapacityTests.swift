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

    private let start = Instant(nanoseconds: 1_000_000_000)

    @Test("one address and all together are limited, and an end frees a place")
    func shares() throws {
        var capacity = capacity()
        let (first, none) = try capacity.claimSeat("a", for: client(1), at: start)
        _ = try capacity.claimSeat("b", for: client(1), at: start)
        #expect(none == nil)
        #expect { try capacity.claimSeat("c", for: client(1), at: start) } throws: {
            guard case ConferenceError.tooFast(let text, let wait) = $0 else { return false }
            return text.contains("2 people") && wait == .seconds(30)
        }
        for number in 2...4 as ClosedRange<UInt32> {
            _ = try capacity.claimSeat("\(number)", for: client(number), at: start)
        }
        #expect { try capacity.claimSeat("5", for: client(5), at: start) } throws: {
            if case ConferenceError.atCapacity = $0 { true } else { false }
        }
        #expect(throws: ConferenceError.self, "without an address in all alone") {
            try capacity.claimSeat("6", for: JoinClient(), at: start)
        }
        capacity.release(first, at: start)
        _ = try capacity.claimSeat("c", for: client(6), at: start)
        #expect(capacity.count(.seats) == 5 && capacity.count(.rooms) == 0)
    }

    @Test("a seat without media and a room without used seats lose their places to others")
    func displaced() throws {
        var capacity = capacity()
        let places = try (0..<2).map { try capacity.claimSeat("a\($0)", for: client(1), at: start).0 }
        for number in 2...4 as ClosedRange<UInt32> {
            _ = try capacity.claimSeat("\(number)", for: client(number), at: start)
        }
        for place in places { capacity.rest(place) }
        capacity.use(places[0])
        #expect(try capacity.claimSeat("5", for: client(5), at: start).1 == .seat("a1"))
        #expect(throws: ConferenceError.self) { try capacity.claimSeat("6", for: client(6), at: start) }
        // Another place of the same id is another place.
        capacity.release(places[1], at: start)
        #expect(capacity.count(.seats) == 5)

        _ = try capacity.claimRoom("one", for: client(1), at: start)
        #expect(try capacity.claimRoom("two", for: client(1), at: start) == .room("one", wasEmpty: false), "its own")
        capacity.useRoom("two")
        #expect(throws: ConferenceError.self) { try capacity.claimRoom("three", for: client(1), at: start) }
        capacity.restRoom("two")
        #expect(try capacity.claimRoom("three", for: client(2), at: start) == nil)
        capacity.abandonRoom("two")
        #expect(
            try capacity.claimRoom("four", for: .administrator, at: start) == .room("two", wasEmpty: true))
        #expect(!capacity.hasPlace(room: "two"))
        capacity.keepRoom("two", of: client(1), isUsed: false)
        #expect(capacity.count(.rooms) == 3 && capacity.hasPlace(room: "two"), "it is there, so it counts")
        #expect(
            try capacity.claimRoom("five", for: .administrator, at: start) == .room("three", wasEmpty: false),
            "the oldest idle one: the other is as idle as a new one")
    }

    @Test("the metrics have limit, use, idle places, displaced holders and refusals")
    func metrics() throws {
        var capacity = capacity()
        _ = try capacity.claimRoom("one", for: client(1), at: start)
        _ = try capacity.claimRoom("two", for: client(1), at: start)
        capacity.useRoom("two")
        _ = try? capacity.claimRoom("three", for: client(1), at: start)
        func value(_ name: String, _ labels: [String: String]) -> Double? {
            capacity.samples.first { $0.name == name && $0.labels == labels }?.value
        }
        #expect(
            value("tessera_limit", ["name": "rooms"]) == 2 && value("tessera_limit", ["name": "rooms_per_address"]) == 1
        )
        #expect(value("tessera_limited_current", ["name": "rooms"]) == 1)
        #expect(value("tessera_limited_idle", ["name": "rooms"]) == 0)
        #expect(value("tessera_limit_displaced_total", ["name": "rooms"]) == 1)
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
        case .layout(let shown, _): "layout \(shown.name)"
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
