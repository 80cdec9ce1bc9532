package import Cluster
package import FoundationEssentials
import WebServer

/// The tokens by which nodes of one cluster prove themselves to each other: JWT with HS256 (RFC 7519) by
/// `cluster.secret` for one node, which lives for half a minute. Another node that gets it can do nothing with it.
package struct NodeToken: Sendable {
    /// The life of a token. The clocks of two nodes may differ by as much.
    package static let life = TimeInterval(PeerRefusal.life)
    /// The furthest end of a token that is taken: no node makes one that lives longer.
    private static let furthestEnd: TimeInterval = life * 2
    private static let maxBytes = 1024

    private struct Claims: Decodable {
        var aud: String
        var exp: Double
        var iss: String
    }

    private let signature: HS256
    private let node: String

    /// - Parameter node: this node's id.
    package init(secret: String, node: String) {
        signature = HS256(secret: secret)
        self.node = node
    }

    /// The audience of tokens for a node.
    private static func audience(_ node: String) -> String { "node:" + node }

    /// - Parameter other: the id of the node that is to verify the token.
    package func make(for other: String, at now: Date = .now) -> String {
        let claims: JSONValue = [
            "aud": .string(Self.audience(other)), "iss": .string(node),
            "exp": .integer(Int(now.timeIntervalSince1970 + Self.life)),
        ]
        return signature.token(claims.bytes)
    }

    /// The id of the node that made a token for this one; nil for any token that is not valid now.
    package func verify(_ token: String, at now: Date = .now) -> String? {
        guard let payload = try? signature.claims(in: token, maxBytes: Self.maxBytes),
            let claims = try? JSONDecoder().decode(Claims.self, from: Data(payload)),
            claims.aud == Self.audience(node)
        else { return nil }
        let left = claims.exp - now.timeIntervalSince1970
        return left > 0 && left <= Self.furthestEnd ? claims.iss : nil
    }

    /// Why a token is not valid now, and, where its signature is good, the node that made it; nil: it is valid.
    package func refusal(of token: String, at now: Date = .now) -> (why: PeerRefusal, node: String?)? {
        guard let payload = try? signature.claims(in: token, maxBytes: Self.maxBytes),
            let claims = try? JSONDecoder().decode(Claims.self, from: Data(payload))
        else { return (.secret, nil) }
        if claims.aud != Self.audience(node) { return (.node, claims.iss) }
        return verify(token, at: now) == nil ? (.clock, claims.iss) : nil
    }

    /// The member `room` in the payload of a resume ticket, which only its room's owner verifies; nil for a text that
    /// is no token.
    package static func room(inTicket ticket: String) -> String? {
        struct Payload: Decodable { var room: String }
        guard let payload = HS256.unverifiedClaims(in: ticket, maxBytes: ClusterTickets.maxBytes) else {
            return nil
        }
        return try? JSONDecoder().decode(Payload.self, from: Data(payload)).room
    }
}
