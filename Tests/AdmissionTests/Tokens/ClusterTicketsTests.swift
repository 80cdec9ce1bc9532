import Foundation
import Testing

@testable import Admission
@testable import Conference
@testable import WebServer

/// The seats' secrets of a cluster.
@Suite("Tickets of a cluster")
struct ClusterTicketsTests {
    private let tickets = ClusterTickets(secret: "the secret of all nodes, of 32 bytes")
    private let ticket = SeatTicket(
        room: "Küche 7", meeting: "m1", id: "p7xk2m", name: "Zoë \"Z\"", role: .presenter, roleIsProven: true,
        isNative: true, issuedAt: Date(timeIntervalSince1970: 1_800_000_000))

    private func payload(_ text: String) -> JSONValue {
        var part = String(text.split(separator: ".")[1].map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 })
        part += String(repeating: "=", count: (4 - part.utf8.count % 4) % 4)
        return (try? JSON.decode(JSONValue.self, from: Array(Data(base64Encoded: part) ?? Data()))) ?? .null
    }

    @Test("a ticket is read by every node with the same secret, and each one is another text")
    func roundTrip() {
        let first = tickets.secret(of: ticket)
        #expect(ClusterTickets(secret: "the secret of all nodes, of 32 bytes").ticket(in: first) == ticket)
        #expect(first != tickets.secret(of: ticket), "jti")
        #expect(first.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F } && first.split(separator: ".").count == 3)
        // What the proxy and other readers see.
        let claims = payload(first)
        #expect(claims["aud"] == "seat" && claims["room"] == "Küche 7" && claims["id"] == "p7xk2m")
        #expect(claims["exp"] == 1_800_003_600 && claims["iat"] == 1_800_000_000)
    }

    @Test("it is a JWT with HS256, as RFC 7515 has it")
    func interoperable() throws {
        let verifier = TokenVerifier(secret: "the secret of all nodes, of 32 bytes")
        var young = ticket
        young.issuedAt = Date()
        let claims = try verifier.verify(tickets.secret(of: young))
        #expect(claims.room == young.room && claims.name == young.name)
    }

    @Test("what is forged, cut, of another secret, audience or algorithm is none")
    func hostile() {
        let good = tickets.secret(of: ticket)
        let parts = good.split(separator: ".").map(String.init)
        func base64(_ text: String) -> String {
            Data(text.utf8).base64EncodedString().replacing("=", with: "").replacing("+", with: "-")
                .replacing("/", with: "_")
        }
        #expect(ClusterTickets(secret: "another").ticket(in: good) == nil)
        for text in [
            "", ".", "..", "...", good + ".", good + "A", String(good.dropLast(4)), "\(parts[0]).\(parts[1]).",
            "\(base64(#"{"alg":"none"}"#)).\(parts[1]).", "\(base64(#"{"alg":"HS512"}"#)).\(parts[1]).\(parts[2])",
            "\(parts[0]).\(base64(#"{"aud":"seat","room":"r"}"#)).\(parts[2])", String(repeating: "a.", count: 100_000),
        ] {
            #expect(tickets.ticket(in: text) == nil, "\(text.prefix(80))")
        }
        // Each single bit of the payload is signed.
        for index in stride(from: 0, to: parts[1].utf8.count, by: 7) {
            var bytes = Array(parts[1].utf8)
            bytes[index] = bytes[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            #expect(tickets.ticket(in: "\(parts[0]).\(String(decoding: bytes, as: UTF8.self)).\(parts[2])") == nil)
        }
    }
}
