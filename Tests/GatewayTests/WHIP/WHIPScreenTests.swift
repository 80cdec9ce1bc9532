import Basics
import Conference
import HTTPTypes
import Testing

@testable import Admission
@testable import Gateway
@testable import Settings
@testable import WebServer

/// `POST /whip/{room}?screen=ID`.
@Suite struct WHIPScreenTests {
    private func share(_ host: Host, _ bearer: String?, _ path: String = "/whip/r?screen=p2") async throws -> Answer {
        var headers: HTTPFields = [.contentType: "application/sdp"]
        if let bearer { headers[.authorization] = "Bearer " + bearer }
        return try await host.ask(.post, path, headers, body: "v=0\r\n", from: "203.0.113.9")
    }

    @Test(arguments: ["s", "p2.s"]) func `the secret of the seat opens it, in mode token too`(bearer: String)
        async throws
    {
        let host = await Host {
            $0.auth.mode = .token
            $0.auth.secret = "the secret of the portal"
        }
        let answer = try await share(host, bearer)
        #expect(answer.status == 201 && host.service.asked == ["screen of p2"])
        let session = try #require(answer.headers[.location])
        #expect(try await host.ask(.delete, session, from: "203.0.113.9").status == 200)
        #expect(host.service.asked == ["screen of p2", "leave"])
    }

    @Test func `other secrets, participants and rooms are refused alike, and none is asked for`() async throws {
        let host = await Host()
        var refusals: Set<String> = []
        for (bearer, path) in [
            ("x", "/whip/r?screen=p2"), ("s", "/whip/r?screen=p1"), ("p2.s", "/whip/r?screen=p1"),
            ("s", "/whip/other?screen=p2"),
        ] {
            let answer = try await share(host, bearer, path)
            #expect(answer.status == 401)
            refusals.insert(String(decoding: answer.body, as: UTF8.self))
        }
        let without = try await share(host, nil)
        #expect(without.status == 401 && refusals.count == 1 && host.service.asked.isEmpty)
        #expect(!refusals.contains(String(decoding: without.body, as: UTF8.self)))
    }

    @Test(arguments: [
        (ConferenceError.conflict("x"), 409), (.forbidden("x"), 403), (.atCapacity("x", retryAfter: .seconds(1)), 503),
        (.tooFast("x", retryAfter: .seconds(1)), 429),
    ])
    func `refusals of the conference`(error: ConferenceError, status: Int) async throws {
        let host = await Host()
        host.service.state.withLock { $0.joinError = error }
        #expect(try await share(host, "s").status == status)
        let metrics = String(decoding: try await host.ask(.get, "/metrics").body, as: UTF8.self)
        #expect(metrics.contains("tessera_whip_sessions 0"))
    }

    @Test func `the session ends with the screen`() async throws {
        let host = await Host()
        let session = try #require(try await share(host, "s").headers[.location])
        host.service.state.withLock { $0.events.last }?(SharedEvent(.left(.left)))
        #expect(try await host.ask(.delete, session, from: "203.0.113.9").status == 404)
        #expect(!host.service.asked.contains("leave"))
    }
}
