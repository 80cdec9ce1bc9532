import Basics
import Cryptography
import FoundationEssentials
import WebServer

/// JSON Web Tokens (RFC 7519) in the compact form (RFC 7515 §7.1) with HMAC-SHA256 (RFC 7518 §3.2), and no others.
///
/// The signature is compared before anything is decoded, so that only what a holder of the secret wrote is parsed. The
/// algorithm never comes from the token (RFC 8725 §3.1).
package struct HS256: Sendable {
    /// Why a token is not good. Only logs and tests see it: a client learns that its token is not valid.
    package enum Fault: Error, Hashable {
        /// It is no three parts of base64url, or has too many bytes.
        case form
        case signature
        /// The header is no JSON object of unique names with `alg` `HS256`, or it has `crit`: no extension is
        /// understood (RFC 7515 §4.1.11).
        case header
        /// The claims are no JSON object of unique names.
        case claims
    }

    private static let header = Base64URL.encode(#"{"alg":"HS256","typ":"JWT"}"#.utf8)

    private let key: [UInt8]

    package init(secret: String) { self.init(key: Array(secret.utf8)) }

    package init(key: [UInt8]) { self.key = key }

    /// - Parameter claims: JSON.
    package func token(_ claims: [UInt8]) -> String {
        let signed = Self.header + "." + Base64URL.encode(claims)
        return signed + "." + Base64URL.encode(code(signed))
    }

    /// The claims of a token with this signature, as JSON.
    package func claims(in token: String, maxBytes: Int) throws(Fault) -> [UInt8] {
        guard let parts = Self.parts(token, maxBytes), let given = Base64URL.decode(parts[2]) else { throw .form }
        guard isEqual(given, code("\(parts[0]).\(parts[1])")) else { throw .signature }
        if parts[0] != Self.header {
            guard let header = Base64URL.decode(parts[0]), Self.isHeader(header) else { throw .header }
        }
        guard let claims = Base64URL.decode(parts[1]) else { throw .form }
        guard JSONNames.areUnique(claims) else { throw .claims }
        return claims
    }

    /// The claims of a token that somebody else verifies.
    static func unverifiedClaims(in token: String, maxBytes: Int) -> [UInt8]? {
        parts(token, maxBytes).flatMap { Base64URL.decode($0[1]) }
    }

    private func code(_ signed: String) -> [UInt8] {
        HashFunction.sha256.authenticationCode(Array(signed.utf8), key: key)
    }

    private static func parts(_ token: String, _ maxBytes: Int) -> [Substring]? {
        guard token.utf8.count <= maxBytes else { return nil }
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 3 ? parts : nil
    }

    private struct Header: Decodable {
        enum Name: String, CodingKey { case alg, crit }

        let isKnown: Bool

        init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: Name.self)
            isKnown = try members.decode(String.self, forKey: .alg) == "HS256" && !members.contains(.crit)
        }
    }

    private static func isHeader(_ bytes: [UInt8]) -> Bool {
        JSONNames.areUnique(bytes) && (try? JSONDecoder().decode(Header.self, from: Data(bytes)))?.isKnown == true
    }
}
