package import FoundationEssentials

/// Checks tokens: JWT with HS256 (RFC 7519).
package struct TokenVerifier: Sendable {
    /// Why a token is not good. Only logs and tests see it: a client learns that its token is not valid.
    package enum Fault: Error, Hashable {
        case token(HS256.Fault)
        /// A claim is missing, or has a value that it must not have.
        case claim(String)
    }

    private static let maxBytes = 8192

    private let signature: HS256
    private let issuer: String
    private let audience: String

    /// - Parameters:
    ///   - issuer: the required `iss`; empty: not checked.
    ///   - audience: the required member of `aud`; empty: not checked.
    package init(secret: String, issuer: String = "", audience: String = "") {
        signature = HS256(secret: secret)
        self.issuer = issuer
        self.audience = audience
    }

    package func verify(_ token: String, at now: Date = Date()) throws(Fault) -> TokenClaims {
        let payload: [UInt8]
        do throws(HS256.Fault) {
            payload = try signature.claims(in: token, maxBytes: Self.maxBytes)
        } catch {
            throw .token(error)
        }
        guard let claims = TokenClaims(json: payload) else { throw .token(.claims) }
        if let claim = claims.fault(at: now) { throw .claim(claim) }
        guard issuer.isEmpty || claims.iss == issuer else { throw .claim("iss") }
        guard audience.isEmpty || claims.aud?.names.contains(audience) == true else { throw .claim("aud") }
        return claims
    }
}
