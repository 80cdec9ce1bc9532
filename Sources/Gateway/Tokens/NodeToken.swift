import Crypto
import Foundation

/// The tokens by which nodes of one cluster prove themselves to each other: JWT with HS256 (RFC 7519) by
/// `cluster.secret`, for the audience `node`, which lives for half a minute.
struct NodeToken: Sendable {
    /// The life of a token. The clocks of two nodes may differ by as much.
    static let life: TimeInterval = 30
    /// The furthest end of a token that is taken: no node makes one that lives longer.
    private static let furthestEnd: TimeInterval = life * 2
    private static let audience = "node"
    private static let header = encode(Array(#"{"alg":"HS256","typ":"JWT"}"#.utf8))
    private static let maxBytes = 1024

    private struct Claims: Decodable {
        var aud: String
        var exp: Double
        var iss: String
    }

    private let key: SymmetricKey
    private let node: String

    /// - Parameter node: this node's id.
    init(secret: String, node: String) {
        key = SymmetricKey(data: Data(secret.utf8))
        self.node = node
    }

    func make(at now: Date = .now) -> String {
        let claims: JSONValue = [
            "aud": .string(Self.audience), "iss": .string(node),
            "exp": .integer(Int(now.timeIntervalSince1970 + Self.life)),
        ]
        let signed = Self.header + "." + Self.encode(claims.bytes)
        let code = HMAC<SHA256>.authenticationCode(for: Data(signed.utf8), using: key)
        return signed + "." + Self.encode(Array(code))
    }

    /// The id of the node that made a token; nil for any token that is not valid now.
    func verify(_ token: String, at now: Date = .now) -> String? {
        guard token.utf8.count <= Self.maxBytes else { return nil }
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        // Only the header that `make` writes: whatever else `alg` says is not for nodes (RFC 8725 §3.1).
        guard parts.count == 3, parts[0] == Self.header, let code = Self.decode(parts[2]),
            HMAC<SHA256>.isValidAuthenticationCode(
                code, authenticating: Data((parts[0] + "." + parts[1]).utf8), using: key),
            let payload = Self.decode(parts[1]), let claims = try? JSONDecoder().decode(Claims.self, from: payload),
            claims.aud == Self.audience
        else { return nil }
        let left = claims.exp - now.timeIntervalSince1970
        return left > 0 && left <= Self.furthestEnd ? claims.iss : nil
    }

    /// The member `room` in the payload of a resume ticket, which only its room's owner verifies; nil for a text that
    /// is no token.
    static func room(inTicket ticket: String) -> String? {
        struct Payload: Decodable { var room: String }
        guard ticket.utf8.count <= 8192 else { return nil }
        let parts = ticket.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let payload = decode(parts[1]) else { return nil }
        return try? JSONDecoder().decode(Payload.self, from: payload).room
    }

    /// Base64url without padding (RFC 7515 §2).
    private static func encode(_ bytes: [UInt8]) -> String {
        Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    private static func decode(_ text: Substring) -> Data? {
        var text = text.replacing("-", with: "+").replacing("_", with: "/")
        text += String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
        return Data(base64Encoded: String(text))
    }
}
