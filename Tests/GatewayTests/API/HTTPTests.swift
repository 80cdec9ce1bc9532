import Basics
import Conference
import Foundation
import HTTPTypes
import Hummingbird
import Peer
import TestSupport
import Testing

@testable import Admission
@testable import Gateway
@testable import Settings
@testable import Signalling
@testable import WebServer

@Suite struct HTTPTests {
    @Test(arguments: [
        ("/", 200), ("/r/Daily%20stand-up", 200), ("/assets/app.js", 200), ("/healthz", 200), ("/readyz", 200),
        ("/metrics", 200),
        ("/api/openapi.json", 200), ("/api/rooms", 200), ("/api/rooms/r", 200), ("/api/rooms/r/snapshot.png", 200),
        ("/api/layouts", 200),
        ("/api/recordings", 200), ("/api/rooms/r/participants/p1/stats", 200), ("/assets/none.js", 404),
        ("/api/rooms/none", 404),
        ("/nowhere", 404), ("/api/rooms/%ff", 404), ("/api/recordings/none", 404), ("/signal", 426),
        ("/api/rooms/..%2Fx", 400),
    ])
    func `reading`(path: String, status: Int) async throws {
        let answer = try await Host().ask(.get, path, from: "203.0.113.9")
        #expect(answer.status == status)
        if status >= 400 {
            #expect(answer.code != nil, "errors are JSON")
            #expect(answer.headers[.contentType]?.hasPrefix("application/json") == true)
        }
    }

    @Test func `a wrong method gets the allowed ones`() async throws {
        let answer = try await Host().ask(.post, "/api/rooms")
        #expect(answer.status == 405)
        #expect(answer.headers[.allow] == "GET, HEAD, OPTIONS")
        #expect(try await Host().ask(.head, "/api/rooms").body.isEmpty)
    }

    @Test func `pages carry their policy and are not sent twice`() async throws {
        let host = await Host()
        let first = try await host.ask(.get, "/")
        #expect(first.headers[.contentType] == "text/html; charset=utf-8")
        #expect(first.headers[.contentSecurityPolicy]?.contains("default-src 'self'") == true)
        let tag = try #require(first.headers[.eTag])
        #expect(try await host.ask(.get, "/", [.ifNoneMatch: tag]).status == 304)
        #expect(try await host.ask(.get, "/assets/app.js").headers[.contentType] == "text/javascript; charset=utf-8")
    }

    @Test func `readiness follows the conference`() async throws {
        let host = await Host()
        host.service.state.withLock { $0.isOverloaded = true }
        let busy = try await host.ask(.get, "/readyz")
        #expect(busy.status == 503)
        #expect(busy.headers[.retryAfter] != nil)
        host.service.state.withLock { $0.isDraining = true }
        #expect(try await host.ask(.get, "/readyz").code == "draining")
        let health = try await host.ask(.get, "/healthz")
        #expect(health.status == 200 && health.body == Array("ok".utf8))
    }

    @Test func `a room is created, changed, and its bodies are checked`() async throws {
        let host = await Host()
        #expect(try await host.ask(.put, "/api/rooms/new").status == 201)
        #expect(try await host.ask(.put, "/api/rooms/new", body: #"{"locked":true}"#).status == 200)
        for body in [
            "nonsense", "[]", #"{"width":"wide"}"#, #"{"width":7}"#, #"{"witdh":640}"#, #"{"layout":"../x"}"#,
            #"{"onPresent":"../x"}"#,
            #"{"width":640.5}"#, #"{"views":[]}"#, #"{"views":{"guests":7}}"#, #"{"views":{"guests":{"layuot":"x"}}}"#,
            #"{"views":{"Guests":{}}}"#, #"{"views":{"main":{}}}"#, #"{"views":{"guests":{"width":91}}}"#,
            #"{"views":{"guests":{"layout":"../x"}}}"#, #"{"views":{"guests":{"renditions":[]}}}"#,
            #"{"views":{"guests":{"renditions":[{"height":720}]}}}"#,
            #"{"views":{"guests":{"renditions":[{"height":720,"bitrate":1}]}}}"#,
        ] {
            let answer = try await host.ask(.put, "/api/rooms/new", body: body)
            #expect(answer.status == 400, "\(body)")
            #expect(answer.code == "bad_request")
        }
        let views =
            #"{"views":{"guests":{"layout":"grid","width":640,"height":360,"framesPerSecond":15,"names":false,"renditions":[{"height":360,"bitrate":400000}]},"old":null}}"#
        let changed = try await host.ask(.put, "/api/rooms/new", body: views)
        #expect(changed.status == 200, "\(changed)")
        #expect(try await host.ask(.put, "/api/rooms/new", body: String(repeating: " ", count: 70_000)).status == 413)
        let unknown = try await host.ask(.put, "/api/rooms/new", body: #"{"layout":"none"}"#)
        #expect(
            unknown.status == 400 && unknown.code == "unknown_layout", "the room is there; what the body names is not")
    }

    @Test func `who sits there puts and deletes its own avatar, and no other one`() async throws {
        let host = await Host { $0.auth.adminToken = "admin" }
        let seat: HTTPFields = [.authorization: "Bearer p2.s"]
        for (method, body) in [(HTTPRequest.Method.put, "picture"), (.delete, "")] {
            let path = "/api/rooms/r/participants/p2/avatar"
            #expect(try await host.ask(method, path, seat, body: body).status == 204)
            for (path, bearer) in [
                (path, "p2.x"), (path, ""), (path, "p2"), ("/api/rooms/r/participants/p1/avatar", "p2.s"),
                ("/api/rooms/other/participants/p2/avatar", "p2.s"), ("/api/avatars/anna", "p2.s"),
            ] {
                let answer = try await host.ask(method, path, [.authorization: "Bearer " + bearer], body: body)
                #expect(answer.status == 401, "\(method) \(path) \(bearer)")
            }
        }
        #expect(host.service.asked == ["own avatar 7", "own avatar 0"])
    }

    @Test func `avatars are set, read and deleted, and a long file is refused`() async throws {
        let host = await Host()
        for path in ["/api/rooms/r/participants/p1/avatar", "/api/avatars/anna"] {
            #expect(try await host.ask(.put, path, body: "picture").status == 204)
            #expect(try await host.ask(.get, path).status == 200)
            #expect(try await host.ask(.delete, path).status == 204)
            let long = String(repeating: "x", count: Avatars.maxBytes + 1)
            #expect(try await host.ask(.put, path, body: long).status == 413)
        }
        #expect(host.service.asked.contains("avatar p1 7") && host.service.asked.contains("store avatar anna"))
        #expect(host.service.asked.contains("avatar p1 0") && host.service.asked.contains("delete avatar anna"))
    }

    @Test func `recordings start, pause, stop`() async throws {
        let host = await Host()
        let started = try await host.ask(.post, "/api/rooms/r/recordings")
        #expect(started.status == 201)
        #expect(started.json["state"] == "recording")
        #expect(
            started.json["id"] == "rec" && started.json["file"] != nil
                && started.json["startedAt"] == "1970-01-01T00:00:00.000Z")
        #expect(try await host.ask(.post, "/api/rooms/r/recordings").status == 409)
        #expect(
            try await host.ask(.patch, "/api/recordings/rec", body: #"{"state":"paused"}"#).json["state"] == "paused")
        #expect(try await host.ask(.patch, "/api/recordings/rec", body: #"{"state":"gone"}"#).status == 400)
        for (code, error) in [
            ("recording_not_running", ConferenceError.recordingNotRunning("rec")), ("conflict", .conflict("no")),
        ] {
            host.service.state.withLock { $0.recordingError = error }
            let late = try await host.ask(.patch, "/api/recordings/rec", body: #"{"state":"paused"}"#)
            #expect(late.status == 409 && late.code == .string(code))
        }
        host.service.state.withLock { $0.recordingError = nil }
        let stopped = try await host.ask(.post, "/api/recordings/rec/stop")
        #expect(stopped.json["state"] == "finished" && stopped.json["duration"] == 2.5 && stopped.json["bytes"] == 100)
    }

    @Test func `a recording is removed`() async throws {
        let host = await Host()
        #expect(try await host.ask(.delete, "/api/recordings/none").status == 404)
        host.service.state.withLock { $0.recordingError = .conflict("It is being written.") }
        #expect(try await host.ask(.delete, "/api/recordings/rec").code == "conflict")
        #expect(host.service.asked.isEmpty)
        host.service.state.withLock { $0.recordingError = nil }
        let removed = try await host.ask(.delete, "/api/recordings/rec")
        #expect(removed.status == 204 && removed.body.isEmpty && host.service.asked == ["remove rec"])
    }

    @Test func `a recording that names what it has begins beside another`() async throws {
        let host = await Host()
        #expect(try await host.ask(.post, "/api/rooms/r/recordings").status == 201)
        #expect(try await host.ask(.post, "/api/rooms/r/recordings", body: "{}").status == 409)
        let other = try await host.ask(.post, "/api/rooms/r/recordings", body: #"{"audioOnly":true,"tracks":true}"#)
        #expect(other.status == 201 && other.json["audioOnly"] == true)
        #expect(host.service.asked.contains("record - true true"), "\(host.service.asked)")
        for body in [#"{"view":1}"#, #"{"view":"main","audioOnly":true}"#, #"{"codec":"aac"}"#] {
            #expect(try await host.ask(.post, "/api/rooms/r/recordings", body: body).status == 400)
        }
        #expect(try await host.ask(.get, "/api/recordings/rec/file?track=2").status == 404)
    }

    @Test func `recordings come in pages`() async throws {
        let host = await Host()
        host.service.state.withLock { $0.finished = (0..<250).reversed().map { "rec-\($0)" } }
        func page(_ query: String) async throws -> [String] {
            guard case .array(let items) = try await host.ask(.get, "/api/recordings" + query).json else { return [] }
            return items.compactMap { if case .string(let id)? = $0["id"] { id } else { nil } }
        }
        #expect(try await page("").count == 100, "what nobody asks for is not sent")
        #expect(try await page("?limit=1000").count == 250)
        #expect(try await page("?limit=2") == ["rec-249", "rec-248"])
        #expect(try await page("?limit=2&before=rec-248") == ["rec-247", "rec-246"])
        #expect(try await page("?before=rec-1") == ["rec-0"])
        #expect(try await page("?before=rec-0").isEmpty)
    }

    @Test(arguments: [
        ("limit=0", "limit: a whole number from 1 to 1000"), ("limit=1001", "limit: a whole number from 1 to 1000"),
        ("limit=-1", "limit: a whole number from 1 to 1000"), ("limit=", "limit: a whole number from 1 to 1000"),
        ("limit=many", "limit: a whole number from 1 to 1000"),
        ("limit=99999999999999999999", "limit: a whole number from 1 to 1000"),
        ("before=none", "before: there is no such recording (any more); leave it out to begin with the newest"),
        ("before=", "before: there is no such recording (any more); leave it out to begin with the newest"),
    ])
    func `an impossible page of the list is refused with a remedy`(query: String, words: String) async throws {
        let answer = try await Host().ask(.get, "/api/recordings?" + query)
        #expect(answer.status == 400 && answer.code == "bad_request")
        #expect(answer.json["error"]?["message"] == .string(words))
    }

    @Test func `a recording's file comes in ranges`() async throws {
        let directory = ScratchDirectory()
        defer { withExtendedLifetime(directory) {} }
        let path = directory.file("rec.mp4")
        #expect(FileManager.default.createFile(atPath: path, contents: Data((0..<100).map { UInt8($0) })))
        let host = await Host(FakeConference(file: path))
        let whole = try await host.ask(.get, "/api/recordings/rec/file")
        #expect(whole.status == 200 && whole.body.count == 100 && whole.headers[.contentType] == "video/mp4")
        let part = try await host.ask(.get, "/api/recordings/rec/file", [.range: "bytes=10-19"])
        #expect(part.status == 206 && part.body == Array(10...19) && part.headers[.contentRange] == "bytes 10-19/100")
        #expect(try await host.ask(.get, "/api/recordings/rec/file", [.range: "bytes=100-"]).status == 416)
        #expect(
            try await host.ask(.get, "/api/recordings/rec/file", [.range: "bytes=0-1", .ifRange: "\"old\""]).status
                == 200)
        let tag = try #require(whole.headers[.eTag])
        #expect(try await host.ask(.get, "/api/recordings/rec/file", [.ifNoneMatch: tag]).status == 304)
    }

    @Test func `participants and layouts`() async throws {
        let host = await Host()
        let path = "/api/rooms/r/participants/p1"
        #expect(try await host.ask(.patch, path, body: #"{"audioMuted":true,"name":"Ann"}"#).json["audioMuted"] == true)
        #expect(try await host.ask(.patch, path, body: #"{"role":"king"}"#).status == 400)
        #expect(try await host.ask(.patch, path, body: #"{"volume":9}"#).status == 400)
        #expect(try await host.ask(.delete, path).status == 204)
        #expect(try await host.ask(.put, "/api/layouts/mine", body: "{}").status == 201)
        #expect(try await host.ask(.put, "/api/layouts/grid", body: "{}").status == 200)
        let faulty = try await host.ask(.put, "/api/layouts/grid", body: "x")
        #expect(faulty.status == 422 && faulty.code == "bad_layout")
        #expect(try await host.ask(.delete, "/api/layouts/none").status == 404)
        for name in ["Mine", "a.b", "%2e%2e", String(repeating: "x", count: 65)] {
            #expect(
                try await host.ask(.put, "/api/layouts/\(name)", body: "{}").status == 400,
                "a file of that name would be refused too")
        }
    }

    @Test func `the document has every route of the API`() async throws {
        let host = await Host()
        let paths = try #require(try await host.ask(.get, "/api/openapi.json").json["paths"])
        for route in host.endpoints.responder.table.routes where route.description != nil {
            #expect(
                paths[route.path]?[route.method.rawValue.lowercased()]?["responses"] != nil,
                "\(route.method) \(route.path)")
        }
        let described = host.endpoints.responder.table.routes.filter {
            $0.path.hasPrefix("/api/") && $0.description == nil
        }
        #expect(described.isEmpty)
        for path in [
            "/healthz", "/readyz", "/metrics", "/signal", "/whip/{room}", "/whep/{room}",
            "/api/rooms/{room}/snapshot.png",
        ] {
            #expect(paths[path] != nil)
        }
    }

    @Test func `every reference in the document has a target`() async throws {
        let document = try await Host().ask(.get, "/api/openapi.json").json
        func check(_ value: JSONValue) {
            switch value {
            case .object(let members):
                if case .string(let reference)? = members["$ref"] {
                    let name = String(reference.split(separator: "/").last ?? "")
                    #expect(document["components"]?["schemas"]?[name] != nil, "\(reference)")
                }
                for member in members.values { check(member) }
            case .array(let items): for item in items { check(item) }
            default: break
            }
        }
        check(document)
    }
}

@Suite struct AccessTests {
    @Test func `without an admin token only this machine changes anything`() async throws {
        let host = await Host()
        #expect(try await host.ask(.delete, "/api/rooms/r").status == 204)
        #expect(try await host.ask(.delete, "/api/rooms/r", from: "::1", at: "::1").status == 204)
        #expect(try await host.ask(.delete, "/api/rooms/r", from: "203.0.113.9").status == 403)
        let forwarded = try #require(HTTPField.Name("X-Forwarded-For"))
        #expect(
            try await host.ask(.delete, "/api/rooms/r", [forwarded: "203.0.113.9"]).status == 403,
            "a proxy on this machine")
    }

    @Test func `the admin token opens all routes, from anywhere`() async throws {
        let host = await Host { $0.auth.adminToken = "open sesame, please" }
        #expect(try await host.ask(.delete, "/api/rooms/r").status == 401)
        #expect(try await host.ask(.delete, "/api/rooms/r", [.authorization: "Bearer wrong"]).status == 401)
        #expect(
            try await host.ask(
                .delete, "/api/rooms/r", [.authorization: "Bearer open sesame, please"], from: "203.0.113.9"
            ).status == 204)
        #expect(try await host.ask(.get, "/api/rooms", from: "203.0.113.9").status == 200)
    }

    @Test func `in mode token reading needs a token too`() async throws {
        let host = await Host {
            $0.auth.mode = .token
            $0.auth.secret = "the secret of the portal, of 32 bytes"
            $0.auth.adminToken = "the administrator"
        }
        #expect(try await host.ask(.get, "/api/rooms", from: "203.0.113.9").status == 401)
        #expect(
            try await host.ask(.get, "/api/rooms", [.authorization: "Bearer the administrator"], from: "203.0.113.9")
                .status == 200)
        #expect(try await host.ask(.get, "/healthz", from: "203.0.113.9").status == 200)
        #expect(try await host.ask(.post, "/whip/r", [.contentType: "application/sdp"], body: "v=0\r\n").status == 401)
    }

    @Test func `pages of other sites are refused, listed ones get CORS`() async throws {
        let host = await Host { $0.http.allowedOrigins = ["https://friend.example"] }
        #expect(try await host.ask(.delete, "/api/rooms/r", [.origin: "https://evil.example"]).status == 403)
        #expect(try await host.ask(.get, "/api/rooms", [.origin: "https://evil.example"]).status == 403)
        #expect(try await host.ask(.delete, "/api/rooms/r", [.origin: "http://localhost:8080"]).status == 204)
        let friend = try await host.ask(.get, "/api/rooms", [.origin: "https://friend.example"])
        #expect(friend.headers[.accessControlAllowOrigin] == "https://friend.example")
        let preflight = try await host.ask(.options, "/api/rooms/r", [.origin: "https://friend.example"])
        #expect(preflight.status == 204)
        #expect(preflight.headers[.accessControlAllowMethods]?.contains("DELETE") == true)
        #expect(
            try await host.ask(.options, "/api/rooms/r", [.origin: "https://evil.example"]).headers[
                .accessControlAllowOrigin] == nil)
    }
}

@Suite struct WHIPTests {
    private let sdp: HTTPFields = [.contentType: "application/sdp"]
    private let offer = "v=0\r\na=ice-ufrag:EsAw\r\na=ice-pwd:P2uYro0UCOQ4zxjKXaWCBui1\r\n"

    private func patch(_ match: String?) -> HTTPFields {
        var headers: HTTPFields = [.contentType: SDPFragment.contentType]
        headers[.ifMatch] = match
        return headers
    }

    @Test func `from POST to DELETE`() async throws {
        let host = await Host { $0.ice.stun = ["stun:s.example"] }
        let created = try await host.ask(.post, "/whip/r?name=Cam+1", sdp, body: offer)
        #expect(created.status == 201)
        #expect(String(decoding: created.body, as: UTF8.self).hasPrefix("v=0"))
        #expect(created.headers[.contentType] == "application/sdp")
        #expect(created.headers[values: .link] == ["<stun:s.example>; rel=\"ice-server\""])
        #expect(host.service.asked == ["join r Cam 1 participant"])
        let location = try #require(created.headers[.location])
        let tag = try #require(created.headers[.eTag])

        let candidate =
            "a=ice-ufrag:EsAw\r\na=ice-pwd:P2uYro0UCOQ4zxjKXaWCBui1\r\na=candidate:1 1 udp 1 192.0.2.1 1 typ host\r\n"
        #expect(try await host.ask(.patch, location, patch(tag), body: candidate).status == 204)
        #expect(host.service.asked.last == "candidate candidate:1 1 udp 1 192.0.2.1 1 typ host")
        #expect(try await host.ask(.patch, location, patch(nil), body: candidate).status == 428)
        #expect(try await host.ask(.patch, location, patch("\"other\""), body: candidate).status == 412)
        #expect(try await host.ask(.patch, location, sdp, body: candidate).status == 415)
        #expect(try await host.ask(.patch, location, patch(tag), body: "nonsense").status == 400)

        let fresh = "a=ice-ufrag:next\r\na=ice-pwd:P2uYro0UCOQ4zxjKXaWCBui2\r\n"
        #expect(try await host.ask(.patch, location, patch(tag), body: fresh).status == 409)
        let restarted = try await host.ask(.patch, location, patch("*"), body: fresh)
        #expect(restarted.status == 200)
        #expect(restarted.headers[.eTag] != tag)
        #expect(String(decoding: restarted.body, as: UTF8.self).contains("a=ice-ufrag:ours"))
        #expect(try await host.ask(.patch, location, patch(tag), body: candidate).status == 412)

        #expect(try await host.ask(.delete, location).status == 200)
        #expect(host.service.asked.last == "leave")
        #expect(try await host.ask(.delete, location).status == 404)
        #expect(try await host.ask(.patch, location, patch("*"), body: fresh).status == 404)
    }

    @Test func `requests that the standards refuse`() async throws {
        let host = await Host()
        #expect(try await host.ask(.post, "/whip/r", body: offer).status == 415)
        #expect(
            try await host.ask(.post, "/whip/r", [.contentType: "application/sdp", .accept: "text/html"], body: offer)
                .status == 406)
        #expect(try await host.ask(.post, "/whip/r", sdp, body: "").status == 400)
        #expect(
            try await host.ask(.post, "/whip/r", sdp, body: "v=0" + String(repeating: " ", count: 70_000)).status == 413
        )
        #expect(try await host.ask(.get, "/whip/r").status == 405)
        #expect(try await host.ask(.post, "/whep/none", sdp, body: offer).status == 404)
        #expect(try await host.ask(.post, "/whep/r?as=p9", sdp, body: offer).status == 404)
        #expect(try await host.ask(.post, "/whep/r?as=p1", sdp, body: offer).status == 201)
        let options = try await host.ask(.options, "/whip/r")
        #expect(options.status == 204 && options.headers[.acceptPost] == "application/sdp")
    }

    @Test(arguments: [(ConferenceError.badSDP("no"), 400), (.noCommonCodec("no"), 406)])
    func `a refused offer withdraws its seat`(error: ConferenceError, status: Int) async throws {
        let host = await Host()
        host.service.state.withLock { $0.answerError = error }
        #expect(try await host.ask(.post, "/whip/r", sdp, body: offer).status == status)
        #expect(host.service.asked.last == "withdraw")
    }

    @Test func `a requested role is proven only with a token`() async throws {
        let open = await Host()
        _ = try await open.ask(.post, "/whip/r", sdp, body: offer)
        #expect(open.service.state.withLock { $0.requests.map(\.roleIsProven) } == [false])
    }

    @Test func `a full room is 503 with the time to wait, a locked one 409`() async throws {
        let host = await Host()
        host.service.state.withLock { $0.joinError = .roomFull("r") }
        let answer = try await host.ask(.post, "/whip/r", sdp, body: offer)
        #expect(answer.status == 503 && answer.headers[.retryAfter] != nil)
        host.service.state.withLock { $0.joinError = .roomLocked("r") }
        let locked = try await host.ask(.post, "/whip/r", sdp, body: offer)
        #expect(locked.status == 409 && locked.code == "room_locked")
    }

    @Test func `a client without access learns nothing about the participants`() async throws {
        let host = await Host {
            $0.auth.mode = .token
            $0.auth.secret = "the secret of the portal, of 32 bytes"
        }
        for path in ["/whep/r", "/whep/none", "/whep/r?as=p1", "/whep/r?as=p9"] {
            #expect(try await host.ask(.post, path, sdp, body: offer).status == 401, "\(path)")
        }
        #expect(host.service.asked.isEmpty)
    }

    @Test func `a seat that ends before its session runs leaves nothing`() async throws {
        let host = await Host()
        host.service.state.withLock { $0.endsWhileAnswering = true }
        for _ in 0..<1100 {
            let location = try #require(try await host.ask(.post, "/whip/r", sdp, body: offer).headers[.location])
            #expect(try await host.ask(.delete, location).status == 404)
        }
        #expect(host.endpoints.whip.sessionCount == 0)
    }

    @Test func `a join that was refused leaves nothing`() async throws {
        let host = await Host()
        host.service.state.withLock { $0.joinError = .roomFull("r") }
        _ = try await host.ask(.post, "/whip/r", sdp, body: offer)
        #expect(host.endpoints.whip.sessionCount == 0)
    }

    @Test func `one session takes five changes a second`() async throws {
        let host = await Host()
        let location = try #require(try await host.ask(.post, "/whip/r", sdp, body: offer).headers[.location])
        // Faster than the allowance refills, on a slow machine too.
        var taken = 0
        var answer = try await host.ask(.patch, location, patch("*"), body: "a=end-of-candidates\r\n")
        while answer.status == 204, taken < 500 {
            taken += 1
            answer = try await host.ask(.patch, location, patch("*"), body: "a=end-of-candidates\r\n")
        }
        #expect(taken >= 20)
        #expect(answer.status == 429 && answer.code == "too_fast" && answer.headers[.retryAfter] == "1")
        let many = (0..<60).map { "a=candidate:\($0) 1 udp 1 192.0.2.1 1 typ host\r\n" }.joined()
        let other = try #require(try await host.ask(.post, "/whip/r", sdp, body: offer).headers[.location])
        #expect(try await host.ask(.patch, other, patch("*"), body: many).status == 400)
    }

    @Test func `a session ends with its media`() async throws {
        let host = await Host()
        let location = try #require(try await host.ask(.post, "/whip/r", sdp, body: offer).headers[.location])
        for event in host.service.state.withLock({ $0.events }) { event(SharedEvent(.left(.timeout))) }
        #expect(try await host.ask(.delete, location).status == 404)
    }
}
