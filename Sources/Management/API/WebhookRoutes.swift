import Admission
package import FoundationEssentials
import Hummingbird
package import WebServer

/// The routes of webhooks, which the settings name.
extension RouteTable {
    /// - Parameter webhooks: nil: the settings have none.
    package mutating func addWebhooks(_ webhooks: (any WebhookQueues)?) {
        add(
            Route(
                .get, "/api/webhooks", .admin,
                RouteDescription(
                    tag: "server", summary: "The webhooks of the settings, and what waits for each at this node",
                    answers: [.json("In the order of the settings.", Schema.list(of: Schema.ref("Webhook")))])
            ) { _ in .json(.array((webhooks?.reports ?? []).map(\.json))) })
        add(
            Route(
                .post, "/api/webhooks/{number}/retry", .admin,
                RouteDescription(
                    tag: "server",
                    summary:
                        "Sends what waits for a webhook at once, by all nodes of a cluster, also where it is off after 410",
                    answers: [.empty(202, "The next attempt has begun, or begins.")], failures: [404]),
                placement: .byAll
            ) { asked in
                guard let number = Int(asked.parameter("number")), webhooks?.retry(number) == true else {
                    throw APIError.notFound("there is no webhook of this number: GET /api/webhooks lists them")
                }
                return Response(status: .accepted)
            })
    }
}

/// The webhooks of the settings, as their routes see them.
package protocol WebhookQueues: Sendable {
    var reports: [WebhookReport] { get }
    /// Sends what waits at once; returns false where there is no webhook of this number.
    func retry(_ number: Int) -> Bool
}

/// What waits for a webhook.
package struct WebhookReport: Sendable {
    /// Its place in the settings, from 1 on.
    package var number: Int
    /// The host of its URL.
    package var host: String
    package var queued: Int
    /// When the oldest of them happened.
    package var oldest: Date?
    package var failure: String?
    /// Nothing is sent, since the receiver answered 410.
    package var isOff: Bool

    package init(number: Int, host: String, queued: Int, oldest: Date?, failure: String?, isOff: Bool) {
        self.number = number
        self.host = host
        self.queued = queued
        self.oldest = oldest
        self.failure = failure
        self.isOff = isOff
    }
}

extension WebhookReport {
    package static let schema = Schema.object(
        [
            "number": Schema.integer.with("description", "Its place in the settings, from 1 on."),
            "host": Schema.string.with("description", "The host of its URL, which may be secret."),
            "queued": Schema.integer.with("description", "Events that wait."),
            "oldest": Schema.date.with("description", "When the oldest of them happened."),
            "failure": Schema.string.with("description", "Why the last attempt failed."),
            "off": Schema.boolean.with("description", "Whether nothing is sent, since the receiver answered 410."),
        ], required: ["number", "host", "queued", "off"])

    fileprivate var json: JSONValue {
        .object(
            [
                "number": .integer(number), "host": .string(host), "queued": .integer(queued),
                "off": .bool(isOff),
            ],
            where: [
                "oldest": oldest.map { .date($0) },
                "failure": failure.map { .string($0) },
            ])
    }
}
