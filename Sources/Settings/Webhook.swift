package import Conference
import FoundationEssentials

/// A URL that gets events by HTTP, after Standard Webhooks 1.0.
package struct Webhook: Sendable, Equatable {
    package var url: String
    /// The URL's host, with the port where it has one: the rest of the URL may be secret.
    package var host: String
    /// The keys that sign, two while one replaces the other.
    package var secrets: [WebhookSecret]
    /// A file with the secrets, instead of `secrets`; empty: none.
    package var secretFile = ""
    package var events = ServerEvent.Kind.standard
    /// How long the receiver has for its answer.
    package var timeout = Duration.seconds(10)
    /// The age at which an event that the receiver does not take is dropped.
    package var retryFor = Duration.seconds(24 * 3600)

    /// The most webhooks of a server: each event is written once for each.
    package static let most = 16
}

/// A key that signs webhooks. Its text is `whsec_` and the key in base64.
package struct WebhookSecret: Sendable, Equatable {
    package let key: [UInt8]

    package static let rule =
        "whsec_ and 24 to 64 random bytes in base64; `echo whsec_$(openssl rand -base64 32)` makes a good one"
    /// Standard Webhooks, "Signature scheme".
    private static let length = 24...64

    package init?(_ text: some StringProtocol) {
        guard text.hasPrefix("whsec_"), let key = Data(base64Encoded: String(text.dropFirst(6))),
            Self.length.contains(key.count)
        else { return nil }
        self.key = Array(key)
    }
}

extension [WebhookSecret] {
    /// Two keys sign while one replaces the other.
    package static let count = 1...2
}
