package import Conference
import FoundationEssentials

/// The seats' secrets of a cluster: JWTs (RFC 7519) with HS256 and `cluster.secret`, so that every node takes a client
/// back that another one has let in.
package struct ClusterTickets: SeatSecrets {
    /// `aud` of tickets, apart from those by which nodes know each other.
    package static let audience = "seat"
    /// A name of 256 bytes of which each is escaped, twice in base64, is below.
    package static let maxBytes = 8192

    private let signature: HS256

    package init(secret: String) { signature = HS256(secret: secret) }

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

    package func secret(of ticket: SeatTicket) -> String {
        var random = SystemRandomNumberGenerator()
        let issued = ticket.issuedAt.timeIntervalSince1970.rounded(.down)
        let claims = Claims(
            aud: Self.audience, room: ticket.room, id: ticket.id, name: ticket.name, role: ticket.role.rawValue,
            native: ticket.isNative, proven: ticket.roleIsProven, meeting: ticket.meeting, iat: issued,
            exp: issued + SeatTicket.life, jti: String(random.next(), radix: 36))
        return signature.token((try? JSONEncoder().encode(claims)).map { Array($0) } ?? [])
    }

    package func ticket(in secret: String) -> SeatTicket? {
        guard let payload = try? signature.claims(in: secret, maxBytes: Self.maxBytes),
            let claims = try? JSONDecoder().decode(Claims.self, from: Data(payload)),
            claims.aud == Self.audience, let role = Role(rawValue: claims.role)
        else { return nil }
        return SeatTicket(
            room: claims.room, meeting: claims.meeting, id: claims.id, name: claims.name, role: role,
            roleIsProven: claims.proven, isNative: claims.native, issuedAt: Date(timeIntervalSince1970: claims.iat))
    }
}
