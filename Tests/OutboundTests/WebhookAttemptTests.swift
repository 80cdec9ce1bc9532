import Foundation
import Testing

@testable import Admission
@testable import Outbound
@testable import Settings
@testable import WebServer

@Suite struct WebhookAttemptTests {
    /// The example of the specification (Standard Webhooks 1.0).
    @Test func `an attempt is signed as the specification's example`() throws {
        let secret = try #require(WebhookSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))
        let other = try #require(WebhookSecret("whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="))
        var webhook = Webhook(url: "https://a.example/", host: "a.example", secrets: [secret])
        let (id, body) = ("msg_p5jXN8AQM9LWM0D4loKWxJek", Array(#"{"test": 2432232314}"#.utf8))
        let attempt = WebhookAttempt(webhook, id: id, body: body, at: 1_614_265_330_999)
        #expect(attempt.timestamp == 1_614_265_330)
        #expect(attempt.signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
        webhook.secrets = [other, secret]
        let both = WebhookAttempt(webhook, id: id, body: body, at: 1_614_265_330_000).signature.split(separator: " ")
        #expect(both.count == 2 && both[1] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
        #expect(both[0].hasPrefix("v1,") && both[0] != both[1])
    }

    @Test(arguments: [
        ("120", 120), ("0", 0), ("Sun, 06 Nov 1994 08:50:37 GMT", 60), ("Sun, 06 Nov 1994 08:00:00 GMT", 0),
        ("99999999999", 604_800), ("-5", nil), ("soon", nil), ("", nil), ("1.5", nil),
        ("Sun, 06 Nov 1994 08:50:37", nil),
    ])
    func `Retry-After is seconds or a date`(text: String, seconds: Int?) {
        // Sun, 06 Nov 1994 08:49:37 GMT
        let now = Date(timeIntervalSince1970: 784_111_777)
        #expect(RetryAfter.parse(text, now: now) == seconds.map { .seconds($0) })
    }
}
