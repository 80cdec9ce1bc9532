import Conference
import Crypto
import Foundation

/// The seats' secrets of a cluster: JWTs (RFC 7519) with HS256 and `cluster.secret`, so that every node takes a client
/// back that another one has let in.
struct ClusterTickets: SeatSecrets {
    /// `aud` of tickets, apart from those by which nodes know each other.
    static let audience = "seat"
    /// A name of 256 bytes of which each is escaped, twice in base64, is below.
    static let maxBytes = 8192

    private let key: SymmetricKey
    private static let header = base64URL(Data(#"{"alg":"HS256","typ":"JWT"}"#.utf8))

    init(secret: String) { key = SymmetricKey(data: Data(secret.utf8)) }

    private struct Claims: Codable {
        var aud: String
        var room: String
        var id: String
        var name: String
        var role: String
        var native: Bool
        /// Whether a token gave the role.
        var proven: Bool
        var meeting: String
        var iat: Double
        var exp: Double
        var jti: String
    }

    func secret(of ticket: SeatTicket) -> String {
        var random = SystemRandomNumberGenerator()
        let issued = ticket.issuedAt.timeIntervalSince1970.rounded(.down)
        let claims = Claims(
            aud: Self.audience, room: ticket.room, id: ticket.id, name: ticket.name, role: ticket.role.rawValue,
            native: ticket.isNative, proven: ticket.roleIsProven, meeting: ticket.meeting, iat: issued,
            exp: issued + SeatTicket.life, jti: String(random.next(), radix: 36))
        let payload = (try? JSONEncoder().encode(claims)) ?? Data()
        let signed = Self.header + "." + Self.base64URL(payload)
        let code = HMAC<SHA256>.authenticationCode(for: Data(signed.utf8), using: key)
        return signed + "." + Self.base64URL(Data(code))
    }

    func ticket(in secret: String) -> SeatTicket? {
        guard secret.utf8.count <= Self.maxBytes else { return nil }
        let parts = secret.split(separator: ".", omittingEmptySubsequences: false)
        // The one header that `secret(of:)` writes: no other algorithm is ever looked at (RFC 8725 §3.1).
        guard parts.count == 3, parts[0] == Self.header, let code = Self.data(parts[2]),
            HMAC<SHA256>.isValidAuthenticationCode(
                code, authenticating: Data("\(parts[0]).\(parts[1])".utf8), using: key),
            let payload = Self.data(parts[1]), let claims = try? JSONDecoder().decode(Claims.self, from: payload),
            claims.aud == Self.audience, let role = Role(rawValue: claims.role)
        else { return nil }
        return SeatTicket(
            room: claims.room, meeting: claims.meeting, id: claims.id, name: claims.name, role: role,
            roleIsProven: claims.proven, isNative: claims.native, issuedAt: Date(timeIntervalSince1970: claims.iat))
    }

    // RFC 7515 appendix C.
    private static func base64URL(_ data: Data) -> String {
        String(
            data.base64EncodedString().compactMap { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 == "=" ? nil : $0 })
    }

    private static func data(_ text: Substring) -> Data? {
        var base64 = String(text.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 })
        base64 += String(repeating: "=", count: (4 - base64.utf8.count % 4) % 4)
        return Data(base64Encoded: base64)
    }
}
