import Cryptography
import FoundationEssentials
import Settings

/// A request to a webhook, signed for this attempt (Standard Webhooks 1.0, "Webhook headers").
struct WebhookAttempt: Sendable, Equatable {
    var url: String
    var id: String
    /// Seconds since 1970.
    var timestamp: Int64
    /// The value of `webhook-signature`: one signature for each secret.
    var signature: String
    var body: [UInt8]
    var timeout: Duration

    init(_ webhook: Webhook, id: String, body: [UInt8], at wall: Int64) {
        url = webhook.url
        timeout = webhook.timeout
        self.id = id
        self.body = body
        timestamp = wall / 1000
        let signed = Array("\(id).\(timestamp).".utf8) + body
        signature = webhook.secrets.map { secret in
            let code = HashFunction.sha256.authenticationCode(signed, key: Array(secret.key))
            return "v1," + Data(code).base64EncodedString()
        }.joined(separator: " ")
    }
}

extension HTTPPost {
    init(_ attempt: WebhookAttempt) {
        self.init(
            url: attempt.url,
            headers: [
                ("content-type", "application/json"), ("webhook-id", attempt.id),
                ("webhook-timestamp", "\(attempt.timestamp)"), ("webhook-signature", attempt.signature),
            ], body: attempt.body, timeout: attempt.timeout)
    }
}
