import EndpointTestSupport
import Foundation
import Testing

@testable import Admission
@testable import WebServer

@Suite struct NodeTokenTests {
    private static let secret = "the secret of the nodes, of 32 bytes"
    private let tokens = NodeToken(secret: secret, node: "a")
    private let now = Date(timeIntervalSince1970: 1_800_000_000)

    private func signed(_ claims: JSONValue, header: String = #"{"alg":"HS256","typ":"JWT"}"#) -> String {
        signedToken(String(decoding: claims.bytes, as: UTF8.self), header: header, secret: Self.secret)
    }

    @Test func `a node's token lives for half a minute`() {
        let token = tokens.make(for: "a", at: now)
        #expect(tokens.verify(token, at: now) == "a")
        #expect(tokens.verify(token, at: now + 29) == "a")
        #expect(tokens.verify(token, at: now + 30) == nil)
        #expect(tokens.verify(token, at: now - 29) == "a", "another node's clock may be late")
        #expect(tokens.verify(token, at: now - 31) == nil, "no node makes one that lives this long")
        #expect(tokens.verify(signed(["aud": "node:a", "iss": "b", "exp": 1_800_000_010]), at: now) == "b")
    }

    @Test func `no other token is one`() {
        let end: JSONValue = 1_800_000_010
        let bad = [
            "", ".", "..", "a.b.c", "....", String(repeating: "a", count: 2000),
            NodeToken(secret: "another secret of the nodes, 32 bytes", node: "a").make(for: "a", at: now),
            signed(["aud": "seat", "iss": "a", "exp": end]), signed(["aud": "node:a", "exp": end]),
            tokens.make(for: "b", at: now), tokens.make(for: "", at: now),
            signed(["aud": "node", "iss": "b", "exp": end]),
            signed(["aud": "node:a", "iss": "a"]), signed(["aud": ["node:a"], "iss": "a", "exp": end]), signed("text"),
            signed(["aud": "node:a", "iss": "a", "exp": end], header: #"{"alg":"none","typ":"JWT"}"#),
            signed(["aud": "node:a", "iss": "a", "exp": 1_900_000_000]),
            String(tokens.make(for: "a", at: now).dropLast()), tokens.make(for: "a", at: now) + "A",
            "x" + tokens.make(for: "a", at: now),
        ]
        for token in bad { #expect(tokens.verify(token, at: now) == nil, "\(token.prefix(80))") }
    }

    @Test func `a ticket names its room, whoever signed it`() {
        #expect(NodeToken.room(inTicket: signed(["aud": "seat", "room": "Daily stand-up"])) == "Daily stand-up")
        for ticket in ["", "s", "a.b", "a.b.c", signed(["aud": "seat"]), signed(["room": 7])] {
            #expect(NodeToken.room(inTicket: ticket) == nil, "\(ticket)")
        }
    }
}
