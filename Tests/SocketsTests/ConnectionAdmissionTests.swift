import Basics
import Testing

@testable import Sockets

@Suite("Admission of TCP connections")
struct ConnectionAdmissionTests {
    private let start = Instant(nanoseconds: 1_000_000_000)
    private let one = IPAddress.v4(1)
    private let two = IPAddress.v4(2)

    private func admission(_ limit: Int = 4, perAddress: Int = 3) -> ConnectionAdmission {
        ConnectionAdmission(limit: limit, perAddress: perAddress, claimTime: .seconds(5))
    }

    @Test("A connection that is not claimed has five seconds; a claimed one stays")
    func claimTime() {
        var admission = admission()
        admission.add(1, from: one, at: start)
        admission.add(2, from: one, at: start + .seconds(1))
        admission.claim(1)
        #expect(admission.nextDeadline() == start + .seconds(6))
        #expect(admission.nextExpired(at: start + .seconds(5)) == nil)
        #expect(admission.nextExpired(at: start + .seconds(6)) == 2)
        admission.remove(2)
        #expect(admission.nextDeadline() == nil)
        #expect(admission.count == 1 && admission.strangerCount == 0)
    }

    @Test("A full address displaces its own strangers, never another's, and is refused where it has none")
    func share() {
        var admission = admission(10)
        admission.add(1, from: two, at: start)
        for number in UInt32(2)...4 { admission.add(number, from: one, at: start) }
        #expect(admission.decision(for: one) == .replace(2))
        for number in UInt32(2)...4 { admission.claim(number) }
        #expect(admission.decision(for: one) == .refused(.address))
        #expect(admission.decision(for: two) == .accept)
        admission.remove(3)
        #expect(admission.decision(for: one) == .accept)
    }

    @Test("Where all places are taken the oldest stranger is displaced; where all are claimed a new one is refused")
    func full() {
        var admission = admission()
        for number in UInt32(1)...4 { admission.add(number, from: IPAddress.v4(number), at: start) }
        admission.claim(1)
        #expect(admission.decision(for: IPAddress.v4(9)) == .replace(2))
        for number in UInt32(2)...4 { admission.claim(number) }
        #expect(admission.decision(for: IPAddress.v4(9)) == .refused(.total))
    }

    @Test("An IPv6 client counts by its /64")
    func prefix() {
        var admission = admission(10, perAddress: 1)
        admission.add(1, from: .v6(7, 1), at: start)
        admission.claim(1)
        #expect(admission.decision(for: .v6(7, 2)) == .refused(.address))
        #expect(admission.decision(for: .v6(8, 2)) == .accept)
    }

    @Test("A flood of unclaimed connections keeps out no peer and leaves no state behind")
    func flood() {
        var admission = admission(64, perAddress: 16)
        admission.add(0, from: two, at: start)
        admission.claim(0)
        for number in UInt32(1)..<5_000 {
            let now = start + .milliseconds(Int64(number))
            if case .replace(let victim) = admission.decision(for: one) { admission.remove(victim) }
            admission.add(number, from: one, at: now)
        }
        #expect(admission.count == 17)
        #expect(admission.decision(for: two) == .accept)
        for number in UInt32(1)..<5_000 { admission.remove(number) }
        #expect(admission.count == 1 && admission.strangerCount == 0)
        #expect(admission.nextDeadline() == nil)
    }
}
