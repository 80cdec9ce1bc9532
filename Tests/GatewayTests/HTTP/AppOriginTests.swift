import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTP1
import Testing

@testable import Admission
@testable import Gateway
@testable import Settings
@testable import WebServer

/// The published apps' own headers at their endpoints, and those of pages that want the same.
@Suite struct AppOriginTests {
    /// Whether a handshake is admitted.
    private func admits(_ host: Host, _ row: ClientHeaders, name: String) throws -> Bool {
        let channel = EmbeddedChannel()
        channel.remoteAddress = try NIOCore.SocketAddress(ipAddress: "203.0.113.9", port: 1000)
        channel.localAddress = try NIOCore.SocketAddress(ipAddress: "203.0.113.1", port: 8080)
        var head = HTTPRequestHead(version: .http1_1, method: .GET, uri: row.path)
        head.headers = [
            "Host": name, "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
        ]
        for field in row.fields(host: name) { head.headers.add(name: field.name.rawName, value: field.value) }
        let endpoints = host.endpoints
        return WebSocketAdmission(endpoints: endpoints.webSocketEndpoints, rules: endpoints.responder.rules)
            .admit(head, channel) != nil
    }

    private static let names = ["meet.example", "meet.example:8443", "203.0.113.1:8080", "[2001:db8::1]:8080"]

    @Test(arguments: ClientHeaders.all) func `the published apps get in`(row: ClientHeaders) async throws {
        let host = await Host()
        for name in Self.names {
            if row.isWebSocket {
                #expect(try admits(host, row, name: name), "\(name)")
            } else {
                let answer = try await host.ask(
                    row.method, row.path, row.fields(host: name), from: "203.0.113.9", at: "203.0.113.1", host: name)
                // Engine.IO refuses the token, not the page.
                let isToken = answer.status == 403 && answer.json["code"] == 4
                #expect(answer.status == 200 || isToken, "\(name): \(answer.status)")
            }
        }
    }

    @Test(arguments: ClientHeaders.foreign) func `pages of other sites do not, whatever they send`(
        row: ClientHeaders
    ) async throws {
        let host = await Host()
        for name in Self.names {
            #expect(try !admits(host, row, name: name), "\(name)")
            let answer = try await host.ask(
                .get, row.path, row.fields(host: name), from: "203.0.113.9", at: "203.0.113.1", host: name)
            #expect(answer.status == 403 && answer.code == "forbidden", "\(row.path): \(answer.status)")
            #expect("\(answer.json)".contains("http.allowedOrigins"), "it says what to set")
        }
    }

    @Test func `an app's origin in a browser's request is a page's`() async throws {
        let host = await Host()
        let page: HTTPFields = [.origin: "https://appr.tc", .userAgent: ClientHeaders.mozilla]
        #expect(try await host.ask(.post, "/join/r", page).status == 403)
        #expect(
            try await host.ask(.post, "/join/r", [.origin: "https://appr.tc", .secFetchSite: "cross-site"]).status
                == 403)
    }

    @Test func `a handshake at a room's path is answered as one`() async throws {
        let host = await Host()
        let key: HTTPFields = [.secWebSocketKey: "AAAAAAAAAAAAAAAAAAAAAA=="]
        for path in ["/r", "/"] {
            let incomplete = try await host.ask(.get, path, key)
            #expect(incomplete.status == 426 && incomplete.headers[.upgrade] == "websocket")
            #expect(try await host.ask(.get, path, key, host: "evil.example").status == 421)
        }
        #expect(try await host.ask(.get, "/r").status == 404, "a plain request")
        let off = await Host { $0.doors.webrtcDemo = false }
        #expect(try await off.ask(.get, "/r", key).status == 404)
    }

    @Test func `listed pages may send credentials; with every site allowed none may`() async throws {
        let page: HTTPFields = [.origin: "https://friend.example"]
        for (allowed, isCredentialed) in [(["https://friend.example"], true), (["*"], false), ([], false)] {
            let host = await Host { $0.http.allowedOrigins = allowed }
            let answer = try await host.ask(.get, "/socket.io/?transport=polling", page)
            #expect((answer.headers[.accessControlAllowCredentials] == "true") == isCredentialed, "\(allowed)")
        }
    }

    @Test(arguments: [
        ("https://meet.example/", "https://meet.example"), ("wss://meet.example", "https://meet.example"),
        ("ws://Meet.example:8080/", "http://meet.example:8080"), ("https://meet.example:443", "https://meet.example"),
        ("*", "*"),
    ]) func `an app's form of an origin in the settings becomes a page's`(written: String, read: String) throws {
        let settings = try ConfigurationLoader.load(
            file: .init(name: "t.yaml", text: "http: {allowedOrigins: [\"\(written)\"]}"), environment: [:], flags: [])
        #expect(settings.http.allowedOrigins == [read])
    }

    @Test(arguments: ["meet.example", "https://meet.example/r", "ftp://meet.example", "ws://", "https://a b"])
    func `anything else in the settings is refused with what to write`(text: String) {
        let error = #expect(throws: ConfigurationFaults.self) {
            try ConfigurationLoader.load(
                file: .init(name: "t.yaml", text: "http: {allowedOrigins: [\"\(text)\"]}"), environment: [:], flags: [])
        }
        #expect(error.map { "\($0)".contains("https://meet.example (scheme, host") } == true)
    }
}
