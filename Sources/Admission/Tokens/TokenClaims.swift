import Conference
package import FoundationEssentials

/// The claims of a token.
package struct TokenClaims: Codable, Equatable {
    /// The room that the token opens; `*` is every room.
    package var room: String
    /// The holder's name, which overrides the requested one.
    package var name: String?
    /// The highest role that the holder may have.
    package var role: String?
    /// The holder's identity: joins with the same one count together, apart from others of the address.
    package var sub: String?
    /// The name of the holder's stored avatar (`PUT /api/avatars/{name}`).
    package var avatar: String?
    /// `false`: the holder is left out of recordings, streams and whatever else leaves the room.
    package var recorded: Bool?
    /// The id of the guest link that the server has made the token for; nil: another one's token.
    package var link: String?
    /// A token without an expiry is refused, since it would open the room for ever to anyone who finds it.
    package var exp: Date?
    package var nbf: Date?
    package var iss: String?
    package var aud: Audience?

    /// `aud`: one text or a list of them (RFC 7519 §4.1.3).
    package struct Audience: Codable, Equatable {
        var names: [String]

        init(_ names: [String]) { self.names = names }

        package init(from decoder: any Decoder) throws {
            let value = try decoder.singleValueContainer()
            if let name = try? value.decode(String.self) {
                names = [name]
            } else {
                names = try value.decode([String].self)
            }
        }

        package func encode(to encoder: any Encoder) throws {
            var value = encoder.singleValueContainer()
            try value.encode(names)
        }
    }

    package func covers(room other: String) -> Bool { room == "*" || room == other }

    /// The claim for which the token is not good now, or never; nil for a good one.
    package func fault(at now: Date) -> String? {
        // RFC 7519 §4.1.4: not on the expiry or after it; §4.1.5: from `nbf` on.
        guard let exp, now < exp else { return "exp" }
        if let nbf, now < nbf { return "nbf" }
        if let role, Role(rawValue: role) == nil { return "role" }
        return nil
    }
}

extension TokenClaims {
    /// nil for what is no JSON object of claims. Times are seconds since 1970 (RFC 7519 §2, NumericDate).
    package init?(json: [UInt8]) {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .secondsSince1970
        guard let claims = try? decoder.decode(TokenClaims.self, from: Data(json)) else { return nil }
        self = claims
    }
}
