import Conference
import Foundation
import TestSupport
import Testing

@testable import Admission
@testable import Outbound
@testable import Settings
@testable import WebServer

@Suite struct WebhookRuleTests {
    private static let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

    private func load(_ yaml: String, _ environment: [String: String] = [:]) throws -> [Webhook] {
        try ConfigurationLoader.load(file: .init(name: "t.yaml", text: yaml), environment: environment).webhooks
    }

    private func faults(_ yaml: String) -> [String] {
        do {
            _ = try load(yaml)
            return []
        } catch let faults as ConfigurationFaults {
            return faults.faults.map(\.description)
        } catch { return ["\(error)"] }
    }

    @Test func `a webhook has its defaults, and takes all settings`() throws {
        let all = try load(
            """
            webhooks:
              - { url: "https://crm.example:8443/tessera?key=1", secret: \(Self.secret) }
              - url: http://10.0.0.5/
                secret: [\(Self.secret), "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="]
                events: [recording.*, chat]
                timeout: 5s
                retryFor: 72h
            """)
        #expect(all.map(\.host) == ["crm.example:8443", "10.0.0.5"])
        #expect(all[0].events == ServerEvent.Kind.standard && all[0].timeout == .seconds(10))
        #expect(all[0].retryFor == .seconds(86400) && all[0].secrets.count == 1)
        #expect(all[1].secrets.count == 2 && all[1].timeout == .seconds(5) && all[1].retryFor == .seconds(3 * 86400))
        #expect(all[1].events.contains(.chat) && all[1].events.contains(.recordingFailed))
        #expect(!all[1].events.contains(.roomEnded))
        let line = "[{url: http://localhost:1/, secret: \(Self.secret)}]"
        #expect(try load("", ["TESSERA_WEBHOOKS": line]).map(\.host) == ["localhost:1"])
        #expect(try load("webhooks: []").isEmpty)
        var settings = TesseraConfiguration()
        #expect(settings.webhooksDirectory == "data/webhooks")
        settings.events.directory = "/queue"
        #expect(settings.webhooksDirectory == "/queue")
    }

    @Test(arguments: [
        ("{url: 'https://a.example/'}", "number 1: needs either secret"),
        ("{secret: SECRET}", "number 1: url is missing"),
        ("{url: ftp://a.example/, secret: SECRET}", "url: must be a URL such as https://"),
        ("{url: 'https://a.example/ä', secret: SECRET}", "url: must be a URL such as https://"),
        ("{url: 'https://a.example/#x', secret: SECRET}", "url: must be a URL such as https://"),
        ("{url: 'https:///x', secret: SECRET}", "url: must be a URL such as https://"),
        ("{url: 'https://a.example:65536/', secret: SECRET}", "url: a port is a number from 1 to 65535"),
        ("{url: 'https://me:geheim@a.example/', secret: SECRET}", "url: must have no name and password"),
        (
            "{url: 'http://a.example/', secret: SECRET}",
            "http would send the events over the internet unencrypted; use https"
        ),
        (
            "{url: 'http://8.8.8.8/', secret: SECRET}",
            "http would send the events over the internet unencrypted; use https"
        ),
        (
            "{url: 'https://a.example/', secret: geheim}",
            "secret: not allowed; allowed is whsec_ and 24 to 64 random bytes in base64"
        ),
        ("{url: 'https://a.example/', secret: whsec_geheim}", "secret: not allowed; allowed is whsec_"),
        ("{url: 'https://a.example/', secret: 'whsec_Z2VoZWlt'}", "secret: not allowed; allowed is whsec_"),
        ("{url: 'https://a.example/', secret: [SECRET, SECRET, SECRET]}", "or a list of two"),
        ("{url: 'https://a.example/', secret: SECRET, secretFile: x}", "needs either secret"),
        (
            "{url: 'https://a.example/', secret: SECRET, events: [room.endet]}",
            "there is no room.endet; did you mean room.ended?"
        ),
        ("{url: 'https://a.example/', secret: SECRET, events: []}", "events: not allowed"),
        ("{url: 'https://a.example/', secret: SECRET, timeout: 2m}", "timeout: not allowed; allowed is a duration"),
        ("{url: 'https://a.example/', secret: SECRET, retryFor: 1s}", "retryFor: not allowed"),
        ("{url: 'https://a.example/', secret: SECRET, retry: 1h}", "retry: there is no such key"),
        (
            "{url: 'https://a.example/', secret: SECRET}, {url: 'https://a.example/', secret: SECRET}",
            "number 2: url: number 1 has the same"
        ),
        ("7", "number 1: must hold url"),
    ])
    func `a fault says what to change, and no secret`(items: String, what: String) {
        let lines = faults("webhooks: [\(items.replacing("SECRET", with: Self.secret))]")
        #expect(lines.count == 1 && lines[0].hasPrefix("webhooks: ") && lines[0].contains(what), "\(lines)")
        #expect(!lines[0].contains(Self.secret) && !lines[0].contains("geheim"))
    }

    @Test func `http is for the own network`() throws {
        for host in ["localhost", "127.0.0.1:9", "[::1]", "192.168.1.2", "[fd00::1]", "crm", "crm.internal", "a.local"]
        {
            #expect(try load("webhooks: [{url: 'http://\(host)/', secret: \(Self.secret)}]").count == 1, "\(host)")
        }
        let many = Array(repeating: "{url: x}", count: 17).joined(separator: ", ")
        #expect(faults("webhooks: [\(many)]") == ["webhooks: has more than 16 webhooks (t.yaml:1)"])
        #expect(faults("webhooks: {url: x}").first?.contains("must be a list") == true)
    }

    @Test func `secrets come from a file`() throws {
        let scratch = ScratchDirectory()
        let file = scratch.file("secret")
        let hooks = try load("webhooks: [{url: 'https://a.example/', secretFile: '\(file)'}]")
        #expect(throws: ConfigurationFaults.self) { _ = try hooks.withSecretsOfFiles() }
        try "\(Self.secret)\nwhsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n".write(
            toFile: file, atomically: false, encoding: .utf8)
        #expect(try hooks.withSecretsOfFiles()[0].secrets.count == 2)
        for wrong in ["", "geheim", "\(Self.secret) geheim"] {
            try wrong.write(toFile: file, atomically: false, encoding: .utf8)
            do {
                _ = try hooks.withSecretsOfFiles()
                Issue.record("\(wrong) was taken")
            } catch {
                #expect("\(error)".contains("must have one line") && !"\(error)".contains("geheim"))
            }
        }
    }
}
