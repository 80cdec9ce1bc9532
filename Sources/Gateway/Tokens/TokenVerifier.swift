import Conference
import Foundation
import JWTKit

/// What a token says of its holder.
struct TokenClaims: JWTPayload, Equatable {
    /// The room that it opens; `*` is every room.
    var room: String
    /// The holder's name; then no other is taken.
    var name: String?
    /// The highest role that the holder may have.
    var role: String?
    /// Who the holder is to whoever made the token: their joins are counted together, and apart from others of their
    /// address.
    var sub: String?
    /// A token without an end would open the room for ever to whoever finds it: it is refused.
    var exp: ExpirationClaim?
    var nbf: NotBeforeClaim?
    var iss: String?
    var aud: AudienceClaim?

    func verify(using algorithm: some JWTAlgorithm) async throws {
        guard let exp else { throw JWTError.claimVerificationFailure(failedClaim: nil, reason: "exp is missing") }
        try exp.verifyNotExpired()
        try nbf?.verifyNotBefore()
        if let role, Role(rawValue: role) == nil {
            throw JWTError.claimVerificationFailure(failedClaim: nil, reason: "role is unknown")
        }
    }

    func covers(room other: String) -> Bool { room == "*" || room == other }
}

/// Checks tokens: JWT with HS256 (RFC 7519, RFC 7518 §3.2).
struct TokenVerifier: Sendable {
    private let keys: JWTKeyCollection
    private let issuer: String
    private let audience: String

    /// - Parameters:
    ///   - issuer: what `iss` must be; empty: whatever it is.
    ///   - audience: what `aud` must hold; empty: whatever it holds.
    init(secret: String, issuer: String = "", audience: String = "") async {
        self.issuer = issuer
        self.audience = audience
        keys = await JWTKeyCollection().add(hmac: HMACKey(from: TokenVerifier.key(secret)), digestAlgorithm: .sha256)
    }

    /// JWTKit traps on keys under 32 bytes, which only tests have. HMAC fills short keys with zeros itself (RFC 2104
    /// §2), so these change nothing.
    static func key(_ secret: String) -> [UInt8] {
        let bytes = Array(secret.utf8)
        return bytes + [UInt8](repeating: 0, count: max(0, 32 - bytes.count))
    }

    /// - Throws: whatever is wrong with the token; the holder is told only that it is not valid.
    func verify(_ token: String) async throws -> TokenClaims {
        guard token.utf8.count <= 8192 else { throw JWTError.malformedToken(reason: "too long") }
        // JWTKit tries its only key whatever the header says (RFC 8725 §3.1: do not).
        guard TokenVerifier.algorithm(of: token) == "HS256" else {
            throw JWTError.malformedToken(reason: "alg is not HS256")
        }
        let claims = try await keys.verify(token, as: TokenClaims.self)
        guard issuer.isEmpty || claims.iss == issuer else {
            throw JWTError.claimVerificationFailure(failedClaim: nil, reason: "iss")
        }
        if !audience.isEmpty {
            guard let aud = claims.aud else {
                throw JWTError.claimVerificationFailure(failedClaim: nil, reason: "aud is missing")
            }
            try aud.verifyIntendedAudience(includes: audience)
        }
        return claims
    }

    /// What the token's header names as its algorithm.
    static func algorithm(of token: String) -> String? {
        struct Header: Decodable { var alg: String }
        var text = String(token.prefix { $0 != "." }.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 })
        text += String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
        return Data(base64Encoded: text).flatMap { try? JSONDecoder().decode(Header.self, from: $0) }?.alg
    }
}

/// Decides who comes in, and as what.
struct JoinAuthorizer: Sendable {
    /// nil in mode `open`.
    var verifier: TokenVerifier?

    /// In mode `open` everybody is trusted with the role that they ask for, as there is nobody to ask; but a locked
    /// room stays locked: a lock that a word opens would be none.
    ///
    /// - Throws: `unauthorized` without a valid token, `forbidden` for another room or a higher role.
    func admit(_ request: JoinRequest, asksRole: Bool, token: String?) async throws(Refusal) -> JoinRequest {
        guard let verifier else { return request }
        guard let token, !token.isEmpty else { throw Refusal(.unauthorized, "this server asks for a token") }
        let claims: TokenClaims
        do {
            claims = try await verifier.verify(token)
        } catch {
            throw Refusal(.unauthorized, "the token is not valid, or not any more")
        }
        guard claims.covers(room: request.room) else { throw Refusal(.forbidden, "the token is for another room") }
        let highest = claims.role.flatMap { Role(rawValue: $0) } ?? .participant
        var request = request
        if let name = claims.name.flatMap({ Names.shown($0) }) { request.name = name }
        if asksRole {
            guard request.role.rank <= highest.rank else {
                throw Refusal(.forbidden, "the token allows no role above \(highest.rawValue)")
            }
        } else {
            request.role = highest
        }
        request.roleIsProven = true
        request.client.identity = claims.sub.flatMap { (1...256).contains($0.utf8.count) ? $0 : nil }
        return request
    }
}

extension Role {
    /// Each may do what those below may.
    var rank: Int {
        switch self {
        case .viewer: 0
        case .participant: 1
        case .presenter: 2
        case .moderator: 3
        }
    }
}
