import FoundationEssentials
package import Settings

extension [Webhook] {
    /// The webhooks with the secrets of their files.
    ///
    /// - Throws: a fault for each file that cannot be read, or has something else in it.
    package func withSecretsOfFiles() throws(ConfigurationFaults) -> [Webhook] {
        var (webhooks, faults): ([Webhook], [ConfigurationFault]) = (self, [])
        for (index, webhook) in enumerated() where !webhook.secretFile.isEmpty {
            func fault(_ what: String) {
                faults.append(
                    ConfigurationFault(
                        key: "webhooks", value: nil,
                        what: "number \(index + 1): secretFile: \(webhook.secretFile) \(what)"))
            }
            guard let text = try? String(contentsOfFile: webhook.secretFile, encoding: .utf8) else {
                fault("cannot be read: make it readable for the server's user")
                continue
            }
            let lines = text.split(whereSeparator: \.isWhitespace)
            let secrets = lines.compactMap { WebhookSecret($0) }
            guard secrets.count == lines.count, [WebhookSecret].count.contains(secrets.count) else {
                fault("must have one line, or two while one secret replaces the other, of \(WebhookSecret.rule)")
                continue
            }
            webhooks[index].secrets = secrets
        }
        if !faults.isEmpty { throw ConfigurationFaults(faults) }
        return webhooks
    }
}
