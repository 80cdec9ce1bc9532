import Basics
import Conference
import EndpointTestSupport
import Foundation
import Testing

@testable import Admission
@testable import Settings
@testable import WebServer

@Suite struct TokenTests {
    private let later = Date.distantFuture

    private func admit(_ claims: TokenClaims, role: Role? = nil, room: String = "r", secret: String = "correct")
        throws -> AdmittedJoin
    {
        let keeper = JoinAuthorizer(verifier: TokenVerifier(secret: "correct"))
        var demand = JoinRequest(room: room, name: "Guest")
        if let role { demand.role = role }
        return try keeper.admit(demand, asksRole: role != nil, token: try claims.signed(secret))
    }

    @Test func `a good token gives its name and role`() throws {
        let demand = try admit(
            TokenClaims(room: "r", name: "Anna", role: "moderator", exp: later))
        #expect(demand.request == JoinRequest(room: "r", name: "Anna", role: .moderator) && demand.roleIsProven)
        #expect(demand.client.identity == nil)
        let known = try admit(TokenClaims(room: "r", sub: "user-7", exp: later))
        #expect(known.client.identity == "user-7")
        let pictured = try admit(TokenClaims(room: "r", avatar: "anna.png", exp: later))
        #expect(pictured.avatar == "anna.png")
        #expect(try admit(TokenClaims(room: "r", avatar: "https://x.example/a.png", exp: later)).avatar == nil)
        for (claim, refusals) in [(nil, []), (true, []), (false, [RecordingRefusal.token])] as [(Bool?, Set)] {
            #expect(try admit(TokenClaims(room: "r", recorded: claim, exp: later)).unrecordedBy == refusals)
        }
        let claimed = JoinRequest(room: "r", name: "A", role: .moderator)
        let unproven = try JoinAuthorizer(verifier: nil).admit(claimed, asksRole: true, token: nil)
        #expect(unproven.request == claimed && !unproven.roleIsProven, "asked for, not proven")
        #expect(try admit(TokenClaims(room: "*", exp: later)).role == .participant)
        #expect(try admit(TokenClaims(room: "r", role: "moderator", exp: later), role: .viewer).role == .viewer)
    }

    @Test func `another room and a higher role are forbidden`() throws {
        #expect { try admit(TokenClaims(room: "other", exp: later)) } throws: {
            ($0 as? Refusal)?.code == .forbidden
        }
        #expect { try admit(TokenClaims(room: "r", exp: later), role: .moderator) } throws: {
            ($0 as? Refusal)?.code == .forbidden
        }
    }

    @Test func `expired, early, forged and malformed tokens are unauthorized`() throws {
        let isUnauthorized: @Sendable (any Error) -> Bool = { ($0 as? Refusal)?.code == .unauthorized }
        #expect { try admit(TokenClaims(room: "r", exp: .distantPast)) } throws: {
            isUnauthorized($0)
        }
        #expect {
            try admit(TokenClaims(room: "r", exp: later, nbf: later))
        } throws: { isUnauthorized($0) }
        #expect { try admit(TokenClaims(room: "r", exp: later), secret: "wrong") } throws: {
            isUnauthorized($0)
        }
        #expect { try admit(TokenClaims(room: "r", role: "king", exp: later)) } throws: {
            isUnauthorized($0)
        }
        let keeper = JoinAuthorizer(verifier: TokenVerifier(secret: "correct"))
        // The second is {"alg":"none"} without a signature.
        for token in [
            nil, "eyJhbGciOiJub25lIn0.eyJyb29tIjoiciJ9.", "a.b.c", "x", String(repeating: "a", count: 10_000),
        ] {
            #expect {
                try keeper.admit(JoinRequest(room: "r", name: "x"), asksRole: false, token: token)
            } throws: { isUnauthorized($0) }
        }
    }

    @Test func `a token without an expiry is refused`() throws {
        #expect { try admit(TokenClaims(room: "r")) } throws: { ($0 as? Refusal)?.code == .unauthorized }
    }

    @Test func `issuer and audience are checked where they are set`() throws {
        let verifier = TokenVerifier(secret: "correct", issuer: "portal", audience: "tessera")
        func isGood(_ issuer: String?, _ audience: [String]?) throws -> Bool {
            let claims = TokenClaims(room: "r", exp: later, iss: issuer, aud: audience.map { TokenClaims.Audience($0) })
            return (try? verifier.verify(claims.signed("correct"))) != nil
        }
        #expect(try isGood("portal", ["tessera"]))
        #expect(try isGood("portal", ["other", "tessera"]))
        #expect(try !isGood("portal", ["other"]))
        #expect(try !isGood("portal", nil))
        #expect(try !isGood("other", ["tessera"]))
        #expect(try !isGood(nil, ["tessera"]))
    }

    @Test func `TURN credentials are those of coturn's REST scheme`() throws {
        var ice = TesseraConfiguration.ICE()
        ice.stun = ["stun:s.example"]
        ice.turn = .init(urls: ["turn:t.example?transport=udp"], secret: "secret", ttl: .seconds(3600))
        let entries = ICEServers(configuration: ice).entries(for: "p1", now: 1000)
        // printf %s 4600:p1 | openssl dgst -sha1 -hmac secret -binary | base64
        #expect(
            entries == [
                .init(urls: ["stun:s.example"]),
                .init(
                    urls: ["turn:t.example?transport=udp"], username: "4600:p1",
                    credential: "pqhQIC2vJAOxdHwTWbOgtMJN8Ow="),
            ])
        #expect(
            ICEServers(configuration: ice).links(for: "p1", now: 1000).first == "<stun:s.example>; rel=\"ice-server\"")
    }
}
