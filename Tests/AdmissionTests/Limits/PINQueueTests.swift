import Basics
import Testing

@testable import Admission
@testable import WebServer

/// Clients that try PINs at one room, in simulated time: guessers as many as they may, and people who know the PIN.
private struct Door {
    struct Try {
        var id: Int
        var address: IPAddress
        var isRight: Bool
        var since: Instant
    }

    var now = Instant.zero
    var queue = PINQueue(at: .zero)
    var tries: [Try] = []
    var wrong = 0
    var entered = 0
    /// How long those who know the PIN waited.
    var waits: [Duration] = []
    var reports: [Int] = []

    /// Returns false where others come first.
    mutating func ask(_ address: IPAddress, isRight: Bool = false) -> Bool {
        guard let id = queue.ask(address, at: now) else { return false }
        tries.append(Try(id: id, address: address, isRight: isRight, since: now))
        return true
    }

    /// Answers the tries whose turn has come.
    mutating func step() {
        var left: [Try] = []
        for asked in tries {
            switch queue.turn(of: asked.id, at: now) {
            case .wait: left.append(asked)
            case .refuse: break
            case .now(let lane):
                queue.end(asked.address, lane, asked.isRight ? .right : .wrong, at: now)
                if asked.isRight {
                    entered += 1
                    waits.append(now - asked.since)
                } else {
                    wrong += 1
                }
            }
        }
        tries = left
        if let count = queue.report(at: now) { reports.append(count) }
    }
}

@Suite struct PINQueueTests {
    /// Where the guesses come from.
    enum Guessers: String, CaseIterable, CustomTestStringConvertible {
        case five, sixty, network

        /// The address of a guess: one of five, one of 60, or one of the 65 536 /64 of a /48.
        func address(_ number: Int) -> IPAddress {
            switch self {
            case .five: .v4(0xCB00_7100 + UInt32(number % 5))
            case .sixty: .v4(0xCB00_7100 + UInt32(number % 60))
            case .network: .v6(0x2001_0DB8_0001_0000 + UInt64(number % 65_536), UInt64(number))
            }
        }

        var testDescription: String { rawValue }
    }

    /// Twelve guesses a second for five minutes; from the third on somebody comes every five seconds who knows the PIN,
    /// from an address that was never here, and asks again after three seconds where it is refused.
    @Test(arguments: Guessers.allCases)
    func `who knows the PIN comes in while others guess, and they guess twenty times a minute`(guessers: Guessers) {
        var door = Door()
        var (came, again) = (0, [(address: IPAddress, at: Instant)]())
        for tick in 0..<1200 {
            door.now = .zero + .milliseconds(250 * tick)
            for guess in 0..<3 { _ = door.ask(guessers.address(tick * 3 + guess)) }
            if tick >= 600, tick < 1100, tick % 20 == 0 {
                came += 1
                again.append((.v4(0x0A00_0000 + UInt32(came)), door.now))
            }
            let due = again.filter { $0.at <= door.now }
            again.removeAll { $0.at <= door.now }
            for (address, _) in due where !door.ask(address, isRight: true) {
                again.append((address, door.now + .seconds(3)))
            }
            door.step()
        }
        #expect(door.wrong <= 20 + 20 * 5, "\(door.wrong) guesses")
        #expect(Double(door.entered) >= 0.99 * Double(came), "\(door.entered) of \(came)")
        #expect((door.waits.max() ?? .zero) <= .seconds(6), "\(door.waits.max() ?? .zero)")
    }

    @Test func `who was inside before comes in at once while others guess`() {
        var door = Door()
        door.queue.welcome(.v4(7), at: .zero)
        for tick in 0..<240 {
            door.now = .zero + .milliseconds(250 * tick)
            for guess in 0..<5 { _ = door.ask(.v4(100 + UInt32(tick * 5 + guess))) }
            if tick % 8 == 0 {
                let isAsked = door.ask(.v4(7), isRight: true)
                #expect(isAsked)
            }
            door.step()
        }
        #expect(door.entered == 30 && door.waits.allSatisfy { $0 == .zero })
    }

    @Test func `an address that was inside guesses no more than all strangers together`() {
        var door = Door()
        for address in 1..<100 as Range<UInt32> { door.queue.welcome(.v4(address), at: .zero) }
        for tick in 0..<240 {
            door.now = .zero + .milliseconds(250 * tick)
            for guess in 0..<5 { _ = door.ask(.v4(1 + UInt32((tick * 5 + guess) % 99))) }
            door.step()
        }
        #expect(door.wrong <= 2 * (20 + 20), "\(door.wrong) guesses")
    }

    @Test func `right PINs are as many as come, and cost no turn`() {
        var door = Door()
        for number in 0..<500 {
            let isAsked = door.ask(.v4(UInt32(number)), isRight: true)
            #expect(isAsked)
            door.step()
        }
        #expect(door.entered == 500 && door.reports.isEmpty)
    }

    @Test func `moderators are told once where tries wait, and again after five minutes`() {
        var door = Door()
        for tick in 0..<1400 {
            door.now = .zero + .milliseconds(250 * tick)
            _ = door.ask(.v4(UInt32(tick)))
            door.step()
        }
        #expect(door.reports.count == 2 && (20...22).contains(door.reports[0]), "\(door.reports)")
    }

    @Test func `queue and memory are bounded, and an old try is refused`() {
        var queue = PINQueue(at: .zero)
        let ids = (0..<5000).map { queue.ask(.v4(UInt32($0)), at: .zero) }
        #expect(queue.count <= PINQueue.places)
        let waiting = ids.compactMap { $0 }.first { queue.turn(of: $0, at: .zero) != .refuse }
        for id in ids.compactMap({ $0 }) { _ = queue.turn(of: id, at: .zero) }
        #expect(waiting != nil && !queue.isIdle(at: .zero))
        for id in ids.compactMap({ $0 }) {
            if case .wait = queue.turn(of: id, at: .zero + .seconds(1)) {
                let again = queue.turn(of: id, at: .zero + .milliseconds(1001))
                queue.leave(id)
                let gone = queue.turn(of: id, at: .zero + .seconds(2))
                #expect(again != .refuse && gone == .refuse)
            }
        }
        #expect(queue.count == 0)
    }

    @Test func `addresses of one customer are one site`() {
        #expect(IPAddress.v6(0x2001_0DB8_0001_0203, 9).site == .v6(0x2001_0DB8_0001_0000, 0))
        #expect(IPAddress.v4(5).site == .v4(5) && IPAddress.v6(0, 0xFFFF_0000_0005).site == .v4(5))
    }
}
