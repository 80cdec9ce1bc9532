import Conference
import Foundation
import JWTKit

/// The claims of a token.
struct TokenClaims: JWTPayload, Equatable {
    /// The room that the token opens; `*` is every room.
    var room: String
    /// The holder's name, which overrides the requested one.
    var name: String?
    /// The highest role that the holder may have.
    var role: String?
    /// The holder's identity: joins with the same one count together, apart from others of the address.
    var sub: String?
    /// The name of the holder's stored avatar (`PUT /api/avatars/{name}`).
    var avatar: String?
    /// `false`: the holder is left out of recordings, streams and whatever else leaves the room.
    var recorded: Bool?
    /// A token without an expiry is refused, since it would open the room for ever to anyone who finds it.
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
    ///   - issuer: the required `iss`; empty: not checked.
    ///   - audience: the required member of `aud`; empty: not checked.
    init(secret: String, issuer: String = "", audience: String = "") async {
        self.issuer = issuer
        self.audience = audience
        keys = await JWTKeyCollection().add(hmac: HMACKey(from: TokenVerifier.key(secret)), digestAlgorithm: .sha256)
    }

    /// The secret, padded to 32 bytes, since JWTKit traps on shorter keys, which only tests have. HMAC pads short keys
    /// with zeros itself (RFC 2104 §2), so the padding changes nothing.
    static func key(_ secret: String) -> [UInt8] {
        let bytes = Array(secret.utf8)
        return bytes + [UInt8](repeating: 0, count: max(0, 32 - bytes.count))
    }

    /// - Throws: the fault of the token; the client only learns that the token is not valid.
    func verify(_ token: String) async throws -> TokenClaims {
        guard token.utf8.count <= 8192 else { throw JWTError.malformedToken(reason: "too long") }
        // JWTKit uses its only key whatever `alg` the header has, against RFC 8725 §3.1.
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

    /// The algorithm (`alg`) in the token's header.
    static func algorithm(of token: String) -> String? {
        struct Header: Decodable { var alg: String }
        var text = String(token.prefix { $0 != "." }.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 })
        text += String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
        return Data(base64Encoded: text).flatMap { try? JSONDecoder().decode(Header.self, from: $0) }?.alg
    }
}

/// Decides who may join, and with which role.
struct JoinAuthorizer: Sendable {
    /// nil in mode `open`.
    var verifier: TokenVerifier?

    /// Checks the token of a join. In mode `open` every requested role is granted, since nothing can prove one; but an
    /// unproven role does not open a locked room.
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
        if claims.recorded == false { request.unrecordedBy.insert(.token) }
        request.avatar = claims.avatar.flatMap { Avatars.isName($0) ? $0 : nil }
        return request
    }
}

extension Role {
    /// Each role includes the permissions of the lower ranks.
    var rank: Int {
        switch self {
        case .viewer: 0
        case .participant: 1
        case .presenter: 2
        case .moderator: 3
        }
    }
}
