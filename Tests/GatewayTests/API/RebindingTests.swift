import Basics
import HTTPTypes
import Testing

@testable import Admission
@testable import Gateway
@testable import Settings
@testable import WebServer

/// A page whose name resolves to this server (DNS rebinding), and pages of other sites.
@Suite struct RebindingTests {
    @Test func `every route refuses a name that is not this server's`() async throws {
        let host = await Host()
        for route in host.endpoints.responder.table.routes where !route.isHealthCheck {
            let path = route.path.replacing("{room}", with: "r").replacing("{id}", with: "p1").replacing(
                "{name}", with: "grid"
            )
            .replacing("{session}", with: "s")
            let origin: HTTPFields = [.origin: "http://evil.example:8080"]
            let answer = try await host.ask(route.method, path, origin, host: "evil.example:8080")
            #expect(answer.status == 421, "\(route.method) \(path)")
        }
        #expect(host.service.asked.isEmpty)
        #expect(try await host.ask(.get, "/healthz", host: "evil.example").status == 200)
        let words = try await host.ask(.get, "/api/rooms", host: "evil.example")
        #expect(words.code == "misdirected")
        #expect(words.json["error"]?["message"].map { "\($0)".contains("http.hosts") } == true, "it says what to set")
    }

    @Test func `names in the settings are this server's, and their pages its own`() async throws {
        let host = await Host {
            $0.http.hosts = ["meet.example"]
            $0.http.publicURL = "https://call.example"
        }
        for name in ["meet.example", "call.example:443"] {
            let page: HTTPFields = [.origin: "https://\(name.prefix { $0 != ":" })"]
            #expect(try await host.ask(.get, "/api/rooms", page, host: name).status == 200)
            #expect(
                try await host.ask(.get, "/api/rooms", page, host: "127.0.0.1:8080").status == 200,
                "a proxy that names us by address")
            #expect(
                try await host.ask(.delete, "/api/rooms/r", page, host: name).status == 403,
                "no administrator by this name")
        }
    }

    @Test func `pages of other sites can neither join nor read`() async throws {
        let host = await Host()
        let sdp: HTTPFields = [.contentType: "application/sdp", .origin: "https://evil.example"]
        #expect(try await host.ask(.post, "/whip/r", sdp, body: "v=0\r\n").status == 403)
        #expect(try await host.ask(.post, "/whep/r", sdp, body: "v=0\r\n").status == 403)
        #expect(try await host.ask(.get, "/signal", sdp).status == 403)
        // Requests for images and videos have no origin.
        let picture: HTTPFields = [.secFetchSite: "cross-site", .secFetchMode: "no-cors"]
        #expect(try await host.ask(.get, "/api/rooms/r/snapshot.png", picture).status == 403)
        let link: HTTPFields = [.secFetchSite: "cross-site", .secFetchMode: "navigate"]
        #expect(try await host.ask(.get, "/api/rooms/r/snapshot.png", link).status == 200, "somebody follows a link")
        #expect(
            try await host.ask(
                .get, "/api/rooms/r/snapshot.png", [.secFetchSite: "same-origin", .secFetchMode: "no-cors"]
            ).status == 200)
        #expect(try await host.ask(.get, "/", picture).status == 200)
        let friend = await Host { $0.http.allowedOrigins = ["https://friend.example"] }
        var friends = picture
        friends[.referer] = "https://friend.example/wall?x=1"
        #expect(try await friend.ask(.get, "/api/rooms/r/snapshot.png", friends).status == 200)
        friends[.referer] = "https://evil.example/https://friend.example/"
        #expect(try await friend.ask(.get, "/api/rooms/r/snapshot.png", friends).status == 403)
    }

    @Test func `behind a trusted proxy its header with the client's name counts`() async throws {
        let host = await Host { $0.http.trustedProxies = ["127.0.0.1"].compactMap { .init($0) } }
        let forwarded = try #require(HTTPField.Name("X-Forwarded-Host"))
        let page: HTTPFields = [.origin: "https://meet.example", forwarded: "meet.example"]
        #expect(try await host.ask(.get, "/api/rooms", page, host: "127.0.0.1:8080").status == 200)
        #expect(
            try await host.ask(.delete, "/api/rooms/r", host: "localhost").status == 403,
            "nobody behind it is an administrator")
        let without = await Host()
        #expect(try await without.ask(.get, "/api/rooms", page, host: "127.0.0.1:8080").status == 403)
    }
}

@Suite struct RequestLimitTests {
    @Test func `the requests of an address are limited in rate, and others go on`() async throws {
        let host = await Host { $0.limits.requestsPerSecondPerAddress = 1 }
        for _ in 0..<4 { #expect(try await host.ask(.get, "/api/rooms", from: "203.0.113.9").status == 200) }
        let refused = try await host.ask(.get, "/api/rooms", from: "203.0.113.9")
        #expect(refused.status == 429 && refused.code == "too_fast" && refused.headers[.retryAfter] == "1")
        #expect(try await host.ask(.get, "/api/rooms", from: "203.0.113.8").status == 200)
        for path in ["/", "/healthz", "/assets/app.js"] {
            #expect(try await host.ask(.get, path, from: "203.0.113.9").status == 200)
        }
    }

    @Test func `requests with the admin token do not count, with a wrong one they do`() async throws {
        let host = await Host {
            $0.limits.requestsPerSecondPerAddress = 1
            $0.auth.adminToken = "the administrator"
        }
        for _ in 0..<20 {
            #expect(try await host.ask(.get, "/api/rooms", [.authorization: "Bearer the administrator"]).status == 200)
        }
        for _ in 0..<4 {
            #expect(try await host.ask(.delete, "/api/rooms/r", [.authorization: "Bearer guess"]).status == 401)
        }
        #expect(try await host.ask(.delete, "/api/rooms/r", [.authorization: "Bearer guess"]).status == 429)
    }

    @Test func `snapshots have a limit of their own`() async throws {
        let host = await Host()
        var statuses: [Int] = []
        for _ in 0..<14 { statuses.append(try await host.ask(.get, "/api/rooms/r/snapshot.png").status) }
        #expect(statuses.first == 200 && statuses.last == 429)
        #expect(try await host.ask(.get, "/api/rooms").status == 200)
    }

    @Test func `a deep or wide body is refused before it is decoded`() async throws {
        let host = await Host()
        let deep = String(repeating: "[", count: 60_000), wide = "[" + String(repeating: "0,", count: 30_000) + "0]"
        for body in [deep, wide, #"{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{}}}}}}}}}"#] {
            #expect(try await host.ask(.put, "/api/rooms/new", body: body).status == 400)
        }
    }
}
