import Crypto
import Foundation

/// What nodes of a cluster sign with `cluster.secret`: JWTs with HS256 (RFC 7519), all of one header.
struct ClusterSignature: Sendable {
    private static let header = base64URL(Data(#"{"alg":"HS256","typ":"JWT"}"#.utf8))

    private let key: SymmetricKey

    init(secret: String) { key = SymmetricKey(data: Data(secret.utf8)) }

    /// - Parameter claims: JSON.
    func token(_ claims: Data) -> String {
        let signed = Self.header + "." + Self.base64URL(claims)
        let code = HMAC<SHA256>.authenticationCode(for: Data(signed.utf8), using: key)
        return signed + "." + Self.base64URL(Data(code))
    }

    /// The claims of a token with this signature; nil for every other, and for one of more than `maxBytes`.
    func claims(in token: String, maxBytes: Int) -> Data? {
        // The one header that `token` writes: no other algorithm is ever looked at (RFC 8725 §3.1).
        guard let parts = Self.parts(token, maxBytes), parts[0] == Self.header, let code = Self.data(parts[2]),
            HMAC<SHA256>.isValidAuthenticationCode(
                code, authenticating: Data("\(parts[0]).\(parts[1])".utf8), using: key)
        else { return nil }
        return Self.data(parts[1])
    }

    /// The claims of a token that somebody else verifies.
    static func unverifiedClaims(in token: String, maxBytes: Int) -> Data? {
        parts(token, maxBytes).flatMap { data($0[1]) }
    }

    private static func parts(_ token: String, _ maxBytes: Int) -> [Substring]? {
        guard token.utf8.count <= maxBytes else { return nil }
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 3 ? parts : nil
    }

    // Base64url without padding (RFC 7515 appendix C).
    private static func base64URL(_ data: Data) -> String {
        String(data.base64EncodedString().compactMap { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 == "=" ? nil : $0 })
    }

    private static func data(_ text: Substring) -> Data? {
        var base64 = String(text.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 })
        base64 += String(repeating: "=", count: (4 - base64.utf8.count % 4) % 4)
        return Data(base64Encoded: base64)
    }
}
