package import Conference
import FoundationEssentials
package import Settings
import WebServer

/// What guest links carry. In mode `token` that is a token like those of the operator's portal, signed with
/// `auth.secret`, with the link's id in the claim `link`; in mode `open` the link's own secret.
package struct GuestLinkTokens: Sendable {
    /// nil in mode `open`.
    private let signature: HS256?
    private let issuer: String
    private let audience: String

    package init(_ auth: TesseraConfiguration.Auth) {
        signature = auth.mode == .token ? HS256(secret: auth.secret) : nil
        (issuer, audience) = (auth.issuer, auth.audience)
    }

    /// nil: the server has been started again since, and has only the digest of the link's secret.
    package func token(for link: GuestLink, of room: String) -> String? {
        guard let signature else { return link.secret.flatMap { GuestPass(link: link.id, secret: $0).text } }
        let claims = JSONValue.object(
            [
                "room": .string(room), "role": .string(link.role.rawValue), "link": .string(link.id),
                "exp": .integer(Int(link.expires.timeIntervalSince1970)),
            ],
            where: [
                "iss": issuer.isEmpty ? nil : .string(issuer), "aud": audience.isEmpty ? nil : .string(audience),
            ])
        return signature.token(claims.bytes)
    }
}
