import Basics
import Conference
import Testing

@testable import Admission
@testable import AppEndpoints
@testable import WebServer

@Suite struct RawTCPSeatsTests {
    /// The seats by reference, since an expectation changes no value.
    private final class Table {
        var seats = RawTCPSeats()

        func claim(_ peer: Int, by connection: UInt64, silence: Duration = .zero) -> RawTCPSeats.Claim {
            seats.claim(peer, by: connection, silence: { _ in silence })
        }
        func release(_ peer: Int, _ connection: UInt64) -> Bool { seats.release(peer, connection) }
        func end(_ peer: Int) -> UInt64? { seats.end(peer) }
        func answers(_ peer: Int, _ connection: UInt64, _ fingerprints: DTLSFingerprints) -> Bool {
            seats.answers(peer, connection, fingerprints)
        }
    }

    private let table = Table()
    private let seat = ResumeClaim(id: "p", secret: "s")
    private let ours = DTLSFingerprints(of: "a=fingerprint:sha-256 AA:BB\r\n")
    private let others = DTLSFingerprints(of: "a=fingerprint:sha-256 CC:DD\r\n")

    private func add(holder: UInt64 = 1) -> Int {
        table.seats.add(seat, as: RawTCPSeats.newID(), holder: holder)
    }

    @Test func `ids are above the server's and not to be counted up`() {
        let ids = (0..<100).map { _ in add() }
        #expect(ids.allSatisfy { (2...Int(Int32.max)).contains($0) } && Set(ids).count == 100)
        #expect(ids.count { $0 < 1_000_000 } < 10)
    }

    @Test func `a client gets its seat again once its connection is gone or silent`() {
        let peer = add()
        #expect(table.claim(peer, by: 2, silence: .seconds(1)) == .new, "the connection lives")
        #expect(table.claim(peer, by: 2, silence: .seconds(5)) == .again(seat, old: 1))
        #expect(!table.release(peer, 1), "the old connection has no seat any more")
        #expect(table.release(peer, 2))
        #expect(table.claim(peer, by: 3, silence: .zero) == .again(seat, old: nil))
    }

    @Test func `an unknown id is as none`() {
        for peer in [Int.min, -1, 0, 1, 2, 77, Int.max] {
            #expect(table.claim(peer, by: 1, silence: .zero) == .new)
        }
    }

    @Test func `the answer must have the certificate of the first one`() {
        let peer = add()
        let accepted = [table.answers(peer, 1, ours), table.answers(peer, 1, ours), table.answers(peer, 1, others)]
        #expect(accepted == [true, true, false])
        let elsewhere = [table.answers(peer, 2, ours), table.answers(5, 1, ours)]
        #expect(elsewhere == [false, false], "another connection, another id")
    }

    @Test func `an id that another client has is given to nobody else`() {
        let peer = add()
        let another = table.seats.add(seat, as: peer, holder: 2)
        let wanted = table.seats.add(seat, as: 77, holder: 2)
        #expect(another != peer && wanted == 77 && table.end(77) == 2)
        #expect(table.claim(77, by: 3) == .new, "who was removed is for the conference to say")
    }
}
