import Basics
import Testing

@testable import Sockets

@Suite("Which TCP connections are let in")
struct ConnectionAdmissionTests {
    private let start = Instant(nanoseconds: 1_000_000_000)
    private let one = IPAddress.v4(1)
    private let two = IPAddress.v4(2)

    private func door(_ limit: Int = 4, perAddress: Int = 3) -> ConnectionAdmission {
        ConnectionAdmission(limit: limit, perAddress: perAddress, patience: .seconds(5))
    }

    @Test("A connection that nobody claims has five seconds; a claimed one stays")
    func patience() {
        var door = door()
        door.enter(1, from: one, at: start)
        door.enter(2, from: one, at: start + .seconds(1))
        door.claim(1)
        #expect(door.nextDeadline() == start + .seconds(6))
        #expect(door.nextExpired(at: start + .seconds(5)) == nil)
        #expect(door.nextExpired(at: start + .seconds(6)) == 2)
        door.leave(2)
        #expect(door.nextDeadline() == nil)
        #expect(door.count == 1 && door.strangerCount == 0)
    }

    @Test("An address beyond its share displaces its own strangers, never another's, and is refused where it has none")
    func share() {
        var door = door(10)
        door.enter(1, from: two, at: start)
        for number in UInt32(2)...4 { door.enter(number, from: one, at: start) }
        #expect(door.answer(one) == .insteadOf(2))
        for number in UInt32(2)...4 { door.claim(number) }
        #expect(door.answer(one) == .refused(.address))
        #expect(door.answer(two) == .welcome)
        door.leave(3)
        #expect(door.answer(one) == .welcome)
    }

    @Test("Where all places are taken the oldest stranger goes, and where all are claimed nobody comes")
    func full() {
        var door = door()
        for number in UInt32(1)...4 { door.enter(number, from: IPAddress.v4(number), at: start) }
        door.claim(1)
        #expect(door.answer(IPAddress.v4(9)) == .insteadOf(2))
        for number in UInt32(2)...4 { door.claim(number) }
        #expect(door.answer(IPAddress.v4(9)) == .refused(.total))
    }

    @Test("An IPv6 client is its /64")
    func prefix() {
        var door = door(10, perAddress: 1)
        door.enter(1, from: .v6(7, 1), at: start)
        door.claim(1)
        #expect(door.answer(.v6(7, 2)) == .refused(.address))
        #expect(door.answer(.v6(8, 2)) == .welcome)
    }

    @Test("Whoever opens connections by the thousand keeps out nobody who claims one, and leaves nothing behind")
    func flood() {
        var door = door(64, perAddress: 16)
        door.enter(0, from: two, at: start)
        door.claim(0)
        for number in UInt32(1)..<20_000 {
            let now = start + .milliseconds(Int64(number))
            if case .insteadOf(let victim) = door.answer(one) { door.leave(victim) }
            door.enter(number, from: one, at: now)
        }
        #expect(door.count == 17)
        #expect(door.answer(two) == .welcome)
        for number in UInt32(1)..<20_000 { door.leave(number) }
        #expect(door.count == 1 && door.strangerCount == 0)
        #expect(door.nextDeadline() == nil)
    }
}
