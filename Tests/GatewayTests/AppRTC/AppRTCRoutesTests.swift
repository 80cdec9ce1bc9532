import Basics
import Conference
import Cryptography
import EndpointTestSupport
import Foundation
import HTTPTypes
import Testing

@testable import Admission
@testable import Gateway
@testable import Settings
@testable import WebServer

@Suite struct AppRTCRoutesTests {
    private static let secret = "the secret of the portal, of 32 bytes"

    /// Joins and returns the parameters of the answer.
    private func join(_ host: Host, _ path: String = "/join/room12345", headers: HTTPFields = [:]) async throws
        -> JSONValue
    {
        let answer = try await host.ask(.post, path, headers, from: "203.0.113.9")
        #expect(answer.status == 200)
        #expect(answer.json["result"] == "SUCCESS")
        return try #require(answer.json["params"])
    }

    private func token(room: String) throws -> String {
        try TokenClaims(room: room, name: "Anna", exp: .distantFuture).signed(AppRTCRoutesTests.secret)
    }

    private func text(_ value: JSONValue?) throws -> String {
        guard case .string(let text)? = value else { throw ConferenceError.badRequest("no text: \(value ?? .null)") }
        return text
    }

    private func post(_ host: Host, _ path: String, _ body: String = "", from address: String = "203.0.113.9")
        async throws -> Answer
    {
        try await host.ask(.post, path, body: body, from: address)
    }

    // MARK: Joining

    @Test func `a join has the parameters that the clients read, with the types that they expect`() async throws {
        let host = await Host { $0.http.publicURL = "https://meet.example" }
        let params = try await join(host)
        let id = try text(params["client_id"])
        #expect(Base64URL.decode(id)?.count == 16)
        #expect(params["room_id"] == "room12345")
        #expect(params["is_initiator"] == "true" && params["is_loopback"] == "false")
        #expect(params["messages"] == [] && params["error_messages"] == [] && params["warning_messages"] == [])
        #expect(params["room_link"] == "https://meet.example/r/room12345")
        // The page puts the link into its address bar: a reload joins as before.
        #expect(
            try await join(host, "/join/room12345?name=alice&pin=4711")["room_link"]
                == "https://meet.example/r/room12345?name=alice&pin=4711")
        #expect(params["wss_url"] == "wss://meet.example/ws")
        #expect(params["wss_post_url"] == "https://meet.example/collider")
        #expect(try text(params["ice_server_url"]).hasPrefix("https://meet.example/v1alpha/iceconfig?key="))
        #expect(try !text(params["ice_server_url"]).contains(id), "the id goes to the TURN server's host in no way")
        #expect(params["ice_server_transports"] == "")
        for (key, wanted) in [
            ("pc_config", ["iceServers": [], "bundlePolicy": "max-bundle", "rtcpMuxPolicy": "require"] as JSONValue),
            ("pc_constraints", ["optional": []]), ("offer_options", [:]),
            ("media_constraints", ["audio": true, "video": true]),
        ] {
            #expect(try JSON.decode(JSONValue.self, from: text(params[key]).utf8) == wanted, "\(key)")
        }
        for key in ["header_message", "include_loopback_js", "bypass_join_confirmation", "version_info"] {
            _ = try text(params[key])
        }
    }

    @Test func `everyone is the initiator, with a seat like others`() async throws {
        let host = await Host { $0.doors.legacyDTLS = true }
        let ids = try await [
            text(join(host, "/join/room12345?name=alice")["client_id"]), text(join(host)["client_id"]),
            text(join(host, "/join/room12345?name=%20")["client_id"]),
        ]
        #expect(Set(ids).count == 3)
        #expect(
            host.service.asked.map { $0.hasPrefix("join ") } == [true, true, true]
                && host.service.asked[0] == "join room12345 alice participant")
        let requests = host.service.state.withLock { $0.requests }
        for (request, id) in zip(requests, ids).dropFirst() {
            let digits = request.name.dropFirst("Guest ".count)
            #expect(request.name.hasPrefix("Guest ") && digits.count == 4 && Int(digits) != nil)
            #expect(!id.contains(digits))
        }
        let request = try #require(requests.first)
        #expect(!request.roleIsProven && request.media.allowsLegacyDTLS && request.hasSignalling)
        #expect(request.client.address == IPAddress("203.0.113.9"))
        #expect(!request.endsWithMedia && request.media.videoCodecs == nil)
    }

    @Test func `switches of the room server's query`() async throws {
        let params = try await join(await Host(), "/join/room12345?it=relay&tt=tcp&video=false")
        #expect(params["ice_server_transports"] == "tcp")
        #expect(try text(params["pc_config"]).contains(#""iceTransportPolicy":"relay""#))
        #expect(params["media_constraints"] == #"{"audio":true,"video":false}"#)
    }

    @Test func `params without a room`() async throws {
        let answer = try await Host().ask(.get, "/params", host: "localhost:8080")
        #expect(answer.status == 200)
        #expect(answer.json["ice_server_url"] == "http://localhost:8080/v1alpha/iceconfig?key=")
        #expect(answer.json["wss_url"] == "ws://localhost:8080/ws")
        #expect(answer.json["client_id"] == nil && answer.json["room_id"] == nil)
    }

    @Test func `behind a trusted proxy the URLs are the proxy's`() async throws {
        let host = await Host { $0.http.trustedProxies = [IPNetwork("203.0.113.9/32")].compactMap { $0 } }
        let headers: HTTPFields = [
            .init("X-Forwarded-Proto")!: "https", .init("X-Forwarded-Host")!: "meet.example",
            .init("X-Forwarded-For")!: "198.51.100.7",
        ]
        let params = try await join(host, headers: headers)
        #expect(params["wss_url"] == "wss://meet.example/ws")
        #expect(params["wss_post_url"] == "https://meet.example/collider")
    }

    @Test(arguments: [
        (ConferenceError.roomFull("r"), "FULL"), (.roomLocked("r"), "FULL"), (.overloaded, "FULL"),
        (.draining, "FULL"), (.internalFailure("x"), "ERROR"), (.roomNotFound("r"), "ERROR"),
    ])
    func `refused joins`(error: ConferenceError, result: String) async throws {
        let host = await Host()
        host.service.state.withLock { $0.joinError = error }
        let answer = try await post(host, "/join/r")
        #expect(answer.status == 200)
        #expect(answer.json["result"] == .string(result))
        #expect(answer.json["params"]?["messages"] == [])
        let metrics = String(decoding: try await host.ask(.get, "/metrics").body, as: UTF8.self)
        #expect(metrics.contains(#"tessera_joins_refused_total{code="#))
        #expect(metrics.contains("tessera_apprtc_clients 0"))
    }

    @Test func `a room's name that cannot be is an error`() async throws {
        let answer = try await post(await Host(), "/join/.hidden")
        #expect(answer.status == 200 && answer.json["result"] == "ERROR")
    }

    @Test func `in token mode a join needs a token for its room`() async throws {
        let host = await Host {
            $0.auth.mode = .token
            $0.auth.secret = AppRTCRoutesTests.secret
        }
        #expect(try await post(host, "/join/r").json["result"] == "ERROR")
        #expect(try await post(host, "/join/r?token=nonsense").json["result"] == "ERROR")
        let token = try token(room: "r")
        #expect(try await post(host, "/join/other?token=\(token)").json["result"] == "ERROR")
        #expect(try await post(host, "/join/r?name=Eve&token=\(token)").json["result"] == "SUCCESS")
        #expect(host.service.asked == ["join r Anna participant"])
    }

    // MARK: Messages

    @Test func `candidates before and after the offer, and the offer`() async throws {
        let host = await Host()
        let path = "/message/room12345/\(try text(await join(host)["client_id"]))"
        let candidate = #"{"type":"candidate","label":0,"id":"0","candidate":"candidate:1"}"#
        for body in [candidate, #"{"type":"offer","sdp":"v=0\r\n"}"#, candidate] {
            let answer = try await post(host, path + "?name=alice", body)
            #expect(answer.status == 200 && answer.json == ["result": "SUCCESS"])
        }
        #expect(host.service.asked.filter { $0 == "candidate candidate:1" }.count == 2)
    }

    private static let longOffer: String = #"{"type":"offer","sdp":"\#(String(repeating: "x", count: 70_000))"}"#
    private static let tooMuch = String(repeating: "x", count: 300_000)

    @Test(arguments: [
        "", "nonsense", "[1]", #"{"type":"offer"}"#, #"{"type":7}"#, #"{"type":"candidate"}"#, longOffer, tooMuch,
    ])
    func `rubbish is an error, and the client stays`(body: String) async throws {
        let host = await Host()
        let path = "/message/room12345/\(try text(await join(host)["client_id"]))"
        let answer = try await post(host, path, body)
        #expect(answer.status == 200 && answer.json == ["result": "ERROR"])
        #expect(try await post(host, path, #"{"type":"offer","sdp":"v=0"}"#).json == ["result": "SUCCESS"])
    }

    @Test func `a refused offer is an error`() async throws {
        let host = await Host()
        let path = "/message/room12345/\(try text(await join(host)["client_id"]))"
        host.service.state.withLock { $0.answerError = .badSDP("no") }
        #expect(try await post(host, path, #"{"type":"offer","sdp":"v=0"}"#).json == ["result": "ERROR"])
    }

    @Test func `unknown clients, and clients of other rooms`() async throws {
        let host = await Host()
        let id = try text(await join(host)["client_id"])
        for path in ["/message/room12345/1", "/message/other/\(id)", "/message/none/none"] {
            #expect(try await post(host, path, #"{"type":"bye"}"#).json == ["result": "UNKNOWN_CLIENT"])
        }
        let leave = try await post(host, "/leave/none/none")
        #expect(leave.status == 200 && leave.body.isEmpty)
        #expect(!host.service.asked.contains("leave"))
    }

    /// The ways in which a client ends its call.
    enum Goodbye: String, CaseIterable { case leave, bye, colliderBye, delete }

    @Test(arguments: Goodbye.allCases)
    func `each goodbye ends the seat once`(_ goodbye: Goodbye) async throws {
        let host = await Host()
        let id = try text(await join(host)["client_id"])
        for _ in 0..<2 {
            switch goodbye {
            case .leave: _ = try await post(host, "/leave/room12345/\(id)")
            case .bye: _ = try await post(host, "/message/room12345/\(id)", #"{"type":"bye"}"#)
            case .colliderBye: _ = try await post(host, "/collider/room12345/\(id)", #"{"type":"bye"}"#)
            case .delete:
                let answer = try await host.ask(.delete, "/collider/room12345/\(id)", from: "203.0.113.9")
                #expect(answer.status == 200 && answer.body == Array("OK\n".utf8))
            }
        }
        #expect(host.service.asked.filter { $0 == "leave" }.count == 1)
        let late = try await post(host, "/message/room12345/\(id)", #"{"type":"offer","sdp":"v=0"}"#)
        #expect(late.json == ["result": "UNKNOWN_CLIENT"])
    }

    @Test func `after a kick an offer is from an unknown client`() async throws {
        let host = await Host()
        let id = try text(await join(host)["client_id"])
        host.service.state.withLock { $0.events.last }?(SharedEvent(.left(.removed)))
        #expect(
            try await post(host, "/message/room12345/\(id)", #"{"type":"offer","sdp":"v=0"}"#).json
                == ["result": "UNKNOWN_CLIENT"])
        #expect(!host.service.asked.contains("leave"))
    }

    @Test func `Collider's POST takes messages, with its own words for errors`() async throws {
        let host = await Host()
        let path = "/collider/room12345/\(try text(await join(host)["client_id"]))"
        let offer = try await post(host, path, #"{"type":"offer","sdp":"v=0"}"#)
        #expect(offer.status == 200 && offer.body == Array("OK\n".utf8))
        #expect(try await post(host, path, "nonsense").status == 500)
        #expect(try await post(host, "/collider/room12345/1", #"{"type":"bye"}"#).status == 200)
        let unknown = try await post(host, "/collider/room12345/1", #"{"type":"offer","sdp":"v=0"}"#)
        #expect(unknown.status == 500 && unknown.body == Array("Client not registered\n".utf8))
    }

    // MARK: Guessing

    @Test func `who guesses ids finds none any more, and others are not affected`() async throws {
        let host = await Host()
        let id = try text(await join(host)["client_id"])
        let candidate = #"{"type":"candidate","candidate":"candidate:1"}"#
        // A client may change its network.
        let moved = try await post(host, "/message/room12345/\(id)", candidate, from: "198.51.100.7")
        #expect(moved.json == ["result": "SUCCESS"])
        for guess in 0..<100 {
            _ = try await post(host, "/message/room12345/\(guess)", candidate, from: "198.51.100.8")
            _ = try await post(host, "/message/room12345/\(guess)", candidate)
        }
        let found = try await post(host, "/message/room12345/\(id)", candidate, from: "198.51.100.8")
        #expect(found.json == ["result": "UNKNOWN_CLIENT"])
        #expect(try await post(host, "/message/room12345/\(id)", candidate).json == ["result": "SUCCESS"])
        let metrics = String(decoding: try await host.ask(.get, "/metrics").body, as: UTF8.self)
        #expect(metrics.contains("tessera_apprtc_unknown_ids_total 200"))
    }

    // MARK: ICE servers

    private func withTURN(
        _ mode: TesseraConfiguration.Auth.Mode = .open, _ change: (inout TesseraConfiguration) -> Void = { _ in }
    ) async -> Host {
        await Host {
            $0.auth.mode = mode
            $0.auth.secret = AppRTCRoutesTests.secret
            $0.ice.stun = ["stun:turn.example:3478"]
            $0.ice.turn.urls = ["turn:turn.example:3478?transport=udp"]
            $0.ice.turn.secret = "coturn's"
            change(&$0)
        }
    }

    private func iceServers(_ host: Host, _ path: String) async throws -> [JSONValue] {
        let answer = try await post(host, path)
        #expect(answer.status == 200 && answer.json["lifetimeDuration"] == "3600s")
        guard case .array(let servers)? = answer.json["iceServers"] else { return [] }
        for server in servers { guard case .array? = server["urls"] else { Issue.record("urls"); continue } }
        return servers
    }

    @Test func `a client with a seat gets TURN credentials for an hour, which have nothing of its id`() async throws {
        let host = await withTURN()
        let params = try await join(host)
        let url = try text(params["ice_server_url"])
        let path = String(url.dropFirst("http://localhost:8080".count))
        let turn = try #require(try await iceServers(host, path).last)
        #expect(turn["urls"] == ["turn:turn.example:3478?transport=udp"])
        let user = try text(turn["username"])
        let id = try text(params["client_id"])
        #expect(!user.contains(id), "STUN shows user names to everyone on the way")
        let life = try #require(Int(user.prefix { $0 != ":" })) - Int(Date().timeIntervalSince1970)
        #expect((3_590...3_600).contains(life))
        let code = HashFunction.sha1.authenticationCode(Array(user.utf8), key: Array("coturn's".utf8))
        #expect(turn["credential"] == .string(Data(code).base64EncodedString()))
        // A key ends with its seat.
        _ = try await post(host, "/leave/room12345/\(id)")
        #expect(try await iceServers(host, path).count == 1)
    }

    @Test func `a shorter life of credentials that is set holds here too`() async throws {
        let host = await withTURN { $0.ice.turn.ttl = .seconds(600) }
        _ = try await join(host)
        #expect(try await post(host, "/v1alpha/iceconfig?key=").json["lifetimeDuration"] == "600s")
    }

    @Test func `strangers get no credentials`() async throws {
        for mode in [TesseraConfiguration.Auth.Mode.open, .token] {
            for key in ["?key=12345678-nonsense", "?key=nonsense"] + (mode == .token ? ["", "?key="] : []) {
                let servers = try await iceServers(await withTURN(mode), "/v1alpha/iceconfig" + key)
                #expect(servers == [["urls": ["stun:turn.example:3478"]]], "\(mode) \(key)")
            }
        }
        let token = try token(room: "r")
        let holder = try await iceServers(await withTURN(.token), "/v1alpha/iceconfig?room=r&token=\(token)")
        #expect(holder.count == 2)
        let other = try await iceServers(await withTURN(.token), "/v1alpha/iceconfig?room=other&token=\(token)")
        #expect(other.count == 1)
    }

    @Test func `who waits to be let in has no seat, and gets none`() async throws {
        let host = await withTURN()
        host.service.makeWait(true)
        let url = try text(try await join(host)["ice_server_url"])
        #expect(try await iceServers(host, String(url.dropFirst("http://localhost:8080".count))).count == 1)
    }

    @Test func `the apps that ask before they join get theirs with the seat of their address`() async throws {
        let host = await withTURN()
        async let early = iceServers(host, "/v1alpha/iceconfig?key=")
        let elsewhere = try await host.ask(.post, "/join/room12345", from: "198.51.100.7")
        #expect(elsewhere.json["result"] == "SUCCESS")
        _ = try await join(host)
        #expect(try await early.count == 2)
    }

    @Test func `without configured servers the list is empty`() async throws {
        #expect(try await iceServers(await Host(), "/v1alpha/iceconfig?key=") == [])
    }

    // MARK: Other origins

    @Test func `pages of listed origins may use these routes, and the origin that the Android app sends`() async throws
    {
        let host = await Host { $0.http.allowedOrigins = ["https://apprtc.example"] }
        let page: HTTPFields = [.origin: "https://apprtc.example"]
        let answer = try await host.ask(.post, "/join/r", page, from: "203.0.113.9")
        #expect(answer.status == 200 && answer.headers[.accessControlAllowOrigin] == "https://apprtc.example")
        #expect(answer.json["params"]?["room_link"] == "https://apprtc.example/r/r")
        let preflight = try await host.ask(.options, "/collider/r/1", page, from: "203.0.113.9")
        #expect(preflight.status == 204 && preflight.headers[.accessControlAllowMethods]?.contains("DELETE") == true)
        let app = try await host.ask(.post, "/join/r", [.origin: "https://appr.tc"])
        #expect(app.status == 200 && app.json["params"]?["room_link"] == "http://localhost:8080/r/r")
        #expect(try await host.ask(.post, "/join/r", [.origin: "https://evil.example"]).status == 403)
        #expect(try await host.ask(.post, "/whip/r", [.origin: "https://appr.tc"]).status == 403)
    }

    @Test func `without the key there are no such routes`() async throws {
        let host = await Host { $0.doors.appRTC = false }
        #expect(try await post(host, "/join/r").status == 404)
        #expect(try await post(host, "/v1alpha/iceconfig").status == 404)
        #expect(!host.endpoints.webSocketEndpoints.contains { $0.takes(path: "/ws") && !$0.pattern.isOfNames })
    }
}
