import Testing

@testable import Settings

@Suite struct RedactedSettingsTests {
    private let marked = "s3cr3t-of-mine"

    private func redact(_ yaml: String, environment: [String: String] = [:]) -> String {
        RedactedSettings.lines(
            file: ConfigurationLoader.File(name: "t.yaml", text: yaml), environment: environment
        ).joined(separator: "\n")
    }

    /// YAML of one key.
    private func yaml(_ path: String, _ value: String) -> String {
        let names = path.split(separator: ".")
        return names.enumerated().map { index, name in
            String(repeating: "  ", count: index) + name + ":" + (index == names.count - 1 ? " " + value : "")
        }.joined(separator: "\n")
    }

    @Test(
        "no key shows a secret in its URL, in a list, or in a mapping", arguments: ConfigurationSchema.keys.map(\.path))
    func urls(path: String) {
        for value in [
            "https://me:\(marked)@host.example/x?token=\(marked)", "[\"turn:host?key=\(marked)\"]",
            "{ name: \(marked) }", "[{ url: \(marked) }]",
        ] where !RedactedSettingsTests.plain.contains(path) || value.hasPrefix("{") {
            #expect(!redact(yaml(path, value)).contains(marked), "\(path): \(value)")
        }
    }

    /// Those whose texts are shown as they are: nobody puts a secret there.
    private static let plain = Set(
        ConfigurationSchema.keys.filter { RedactedSettings.value("plain-text", of: $0) == "plain-text" }.map(\.path))

    @Test("what is shown as it is has been looked at")
    func shown() {
        #expect(Self.plain.count == 44)
        #expect(ConfigurationSchema.keys.filter(\.isSecret).allSatisfy { !Self.plain.contains($0.path) })
        for path in ["recording.onFinished", "webhooks", "rooms.presets", "tracing.otlp", "ice.turn.urls"] {
            #expect(!Self.plain.contains(path), "\(path)")
        }
    }

    @Test("figures and addresses are shown, secrets and unknown keys are not, in file and environment")
    func lines() {
        let text = redact(
            """
            http:
              listen: 0.0.0.0:8080
              publicURL: https://user:\(marked)@meet.example:8443/a?b=\(marked)
            auth: { mode: token, secret: 1234567890123456, adminTokn: \(marked) }
            limits: { seats: 500 }
            recording: { keep: 24h, onFinished: [\"curl\", \"\(marked)\"] }
            """, environment: ["TESSERA_AUTH_ADMINTOKEN": marked, "TESSERA_WRONG": marked, "HOME": "/root"])
        #expect(
            text == """
                http.listen: 0.0.0.0:8080
                http.publicURL: https://meet.example:8443/…
                auth.mode: token
                auth.secret: (removed)
                auth.(unknown key): (removed)
                limits.seats: 500
                recording.keep: 24h
                recording.onFinished: [(removed), (removed)]
                TESSERA_AUTH_ADMINTOKEN: (removed)
                TESSERA_WRONG: (removed)
                """)
        #expect(redact("a: [").hasPrefix("# t.yaml is no YAML"))
    }
}
