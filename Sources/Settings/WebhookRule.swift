import Basics
import Conference
import FoundationEssentials

extension ConfigurationRule where Value == [Webhook] {
    /// `[{url, secret, events, timeout, retryFor}]`
    static let webhooks = ConfigurationRule(
        allowed: "[{\(WebhookReader.keys.joined(separator: ", "))}]", isList: true,
        explain: { raw in
            do throws(WebhookReader.Fault) {
                _ = try WebhookReader.read(raw)
                return nil
            } catch {
                return error.text
            }
        }
    ) { raw in try? WebhookReader.read(raw) }
}

/// Reads `webhooks`.
enum WebhookReader {
    /// The fault of one webhook, named by its number and host: its other values may be secret.
    struct Fault: Error {
        var text: String
    }

    static let keys = ["url", "secret", "secretFile", "events", "timeout", "retryFor"]

    static func read(_ raw: RawSetting) throws(Fault) -> [Webhook] {
        guard case .list(let items) = raw else {
            throw Fault(text: "must be a list: [{url: https://crm.example/tessera, secret: whsec_…}]")
        }
        guard items.count <= Webhook.most else { throw Fault(text: "has more than \(Webhook.most) webhooks") }
        var webhooks: [Webhook] = []
        for (index, item) in items.enumerated() {
            do throws(Fault) {
                let webhook = try webhook(item)
                if let same = webhooks.firstIndex(where: { $0.url == webhook.url }) {
                    throw Fault(
                        text: "url: number \(same + 1) has the same; name all events in one, or give each another path")
                }
                webhooks.append(webhook)
            } catch {
                throw Fault(text: "number \(index + 1): \(error.text)")
            }
        }
        return webhooks
    }

    private static func webhook(_ raw: RawSetting) throws(Fault) -> Webhook {
        guard case .map(let settings) = raw else {
            throw Fault(text: "must hold \(keys.joined(separator: ", "))")
        }
        var webhook = Webhook(url: "", host: "", secrets: [])
        for setting in settings where setting.value != .null {
            func value<Wanted>(_ rule: ConfigurationRule<Wanted>) throws(Fault) -> Wanted {
                guard let value = rule.read(setting.value) else {
                    throw Fault(text: "\(setting.key): not allowed; allowed is \(rule.allowed)")
                }
                return value
            }
            switch setting.key {
            case "url":
                webhook.url = try value(.text("a URL"))
                webhook.host = try host(of: webhook.url)
            case "secret": webhook.secrets = try value(secrets)
            case "secretFile": webhook.secretFile = try value(.text("the path of a file"))
            case "events": webhook.events = try events(setting.value)
            case "timeout": webhook.timeout = try value(.duration(.seconds(1)...(.seconds(60)), "from 1s to 60s"))
            case "retryFor":
                webhook.retryFor = try value(.duration(.seconds(60)...(.seconds(7 * 86400)), "from 1m to 168h"))
            default:
                let hint = Spelling.nearest(setting.key, among: keys).map { "; did you mean \($0)?" } ?? ""
                throw Fault(
                    text: "\(setting.key): there is no such key\(hint); allowed are \(keys.joined(separator: ", "))")
            }
        }
        if webhook.url.isEmpty { throw Fault(text: "url is missing") }
        if webhook.secrets.isEmpty == webhook.secretFile.isEmpty {
            throw Fault(text: "needs either secret (\(WebhookSecret.rule)) or secretFile, a file with it")
        }
        return webhook
    }

    private static let secrets = ConfigurationRule<[WebhookSecret]>.list(
        of: ConfigurationRule<WebhookSecret>(allowed: WebhookSecret.rule) { raw in
            guard case .scalar(let text, _) = raw else { return nil }
            return WebhookSecret(text)
        },
        WebhookSecret.rule + ", or a list of two while one replaces the other", count: [WebhookSecret].count)

    private static func events(_ raw: RawSetting) throws(Fault) -> Set<ServerEvent.Kind> {
        let names = ConfigurationRule<[String]>.list(of: .text("a type"), "a list of types", count: 1...100).read(raw)
        guard let names else {
            throw Fault(text: "events: not allowed; allowed is a list of \(ServerEvent.Kind.names)")
        }
        var kinds: Set<ServerEvent.Kind> = []
        for name in names {
            let found = ServerEvent.Kind.named(name)
            if found.isEmpty {
                let hint = Spelling.nearest(name, among: ServerEvent.Kind.allCases.map(\.rawValue))
                throw Fault(
                    text: "events: there is no \(name.prefix(64))" + (hint.map { "; did you mean \($0)?" } ?? "")
                        + "; there are \(ServerEvent.Kind.names), and participant.* for all that begin so")
            }
            kinds.formUnion(found)
        }
        return kinds
    }

    /// The host and port of a webhook's URL.
    private static func host(of url: String) throws(Fault) -> String {
        guard url.utf8.count <= 2048, url.utf8.allSatisfy({ (33...126).contains($0) }),
            let parts = URLComponents(string: url), let name = parts.host, !name.isEmpty, parts.fragment == nil,
            let scheme = parts.scheme?.lowercased(), scheme == "https" || scheme == "http"
        else {
            throw Fault(text: "url: must be a URL such as https://crm.example/tessera, of at most 2048 characters")
        }
        guard Endpoint.ports.contains(parts.port ?? 443) else {
            throw Fault(text: "url: a port is a number from 1 to 65535")
        }
        if parts.user != nil || parts.password != nil {
            throw Fault(text: "url: must have no name and password before the host; the signature says who sends")
        }
        if scheme == "http", !isNear(name) {
            throw Fault(
                text: "url: http would send the events over the internet unencrypted; use https. http is for addresses "
                    + "and names of your own network: localhost, 10.0.0.5, a name without a dot, or one that ends in "
                    + ".local, .internal, .lan or .home.arpa")
        }
        return name + (parts.port.map { ":\($0)" } ?? "")
    }

    /// Whether a host is one of the server's own machine or network.
    private static func isNear(_ host: String) -> Bool {
        let host = host.lowercased()
        let bare = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
        if let address = IPAddress(bare) { return nearNetworks.contains { $0.contains(address) } }
        return !host.contains(".")
            || [".localhost", ".local", ".internal", ".lan", ".home.arpa"].contains { host.hasSuffix($0) }
    }

    /// Loopback, private (RFC 1918, RFC 4193), link-local and shared (RFC 6598) addresses.
    private static let nearNetworks = [
        "127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "100.64.0.0/10", "::1/128",
        "fc00::/7", "fe80::/10",
    ].compactMap { IPNetwork($0) }
}
