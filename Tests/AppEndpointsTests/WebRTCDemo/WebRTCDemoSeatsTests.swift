import Basics
import Conference
import Testing

@testable import Admission
@testable import AppEndpoints
@testable import WebServer

@Suite struct WebRTCDemoSeatsTests {
    /// The seats by reference, since an expectation changes no value.
    private final class Table {
        var seats = WebRTCDemoSeats<String>()

        func claim(
            _ fingerprints: DTLSFingerprints, _ room: String = "r", by connection: UInt64
        ) -> String {
            switch seats.claim(room, fingerprints, by: connection) {
            case .again(let seat): "again \(seat)"
            case .held: "held"
            case .new: "new"
            }
        }

        func end(_ key: UInt64) -> UInt64? { seats.end(key) }
    }

    private let table = Table()
    private let ada = DTLSFingerprints(
        of: "v=0\r\na=fingerprint:sha-256 AA:BB\r\nm=audio\r\na=fingerprint:SHA-256 aa:bb\r\n")
    private let bo = DTLSFingerprints(of: "v=0\na=fingerprint:sha-256 CC:DD\n")

    @Test func `certificates are compared in one form`() {
        #expect(ada.values == ["sha-256 AA:BB"])
        #expect(ada.matches(DTLSFingerprints(of: "a=fingerprint:sha-256 aa:Bb")) && !ada.matches(bo))
        #expect(DTLSFingerprints(of: "a=fingerprint:\r\na=fingerprint:sha-256\r\nv=0").isEmpty)
        let many = (0..<1000).map { "a=fingerprint:sha-256 \($0)\r\n" }.joined()
        #expect(DTLSFingerprints(of: many).values.count == 16)
        #expect(!DTLSFingerprints(of: "").matches(DTLSFingerprints(of: "")), "none is no certificate")
    }

    @Test func `a client gets its seat again only when its own connection is gone`() {
        #expect(table.claim(ada, by: 1) == "new")
        _ = table.seats.add("ada", "r", ada, holder: 1)
        #expect(table.claim(ada, by: 2) == "held")
        table.seats.release(1)
        #expect(table.claim(bo, by: 2) == "new", "another certificate")
        #expect(table.claim(ada, "s", by: 2) == "new", "another room")
        #expect(table.claim(ada, by: 2) == "again ada")
        #expect(table.claim(ada, by: 3) == "held")
        #expect(table.seats.seat(of: 2) == "ada" && table.seats.seat(of: 1) == nil)
    }

    @Test func `a new peer connection on the same socket keeps the seat`() {
        _ = table.seats.add("ada", "r", ada, holder: 1)
        table.seats.renew(bo, of: 1)
        table.seats.release(1)
        #expect(table.claim(ada, by: 2) == "new")
        #expect(table.claim(bo, by: 2) == "again ada")
    }

    @Test func `a seat that has ended is new again`() {
        let first = table.seats.add("ada", "r", ada, holder: 1)
        #expect(table.end(first) == 1 && table.end(first) == nil && table.seats.count == 0)
        #expect(table.claim(ada, by: 3) == "new", "who was removed is for the conference to say")
    }
}
