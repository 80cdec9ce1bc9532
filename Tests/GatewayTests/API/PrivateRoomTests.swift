import Basics
import Conference
import EndpointTestSupport
import FoundationEssentials
import HTTPTypes
import Testing
import Threads

@testable import Admission
@testable import Gateway
@testable import Settings
@testable import WebServer

/// Rooms with a PIN or a waiting room: what outsiders read, and PINs that are tried.
@Suite struct PrivateRoomTests {
    private static let path = "/api/rooms/r"
    private static let outside = "203.0.113.9"
    private static let secret = "the secret of the portal, of 32 bytes"

    private func token(_ role: Role, room: String) throws -> String {
        try TokenClaims(room: room, role: role.rawValue, exp: .distantFuture).signed(Self.secret)
    }

    private func host(_ body: String, token: Bool = false) async throws -> Host {
        let host = await Host { settings in
            settings.auth.adminToken = "the administrator"
            if token {
                settings.auth.mode = .token
                settings.auth.secret = Self.secret
            }
        }
        let admin: HTTPFields = [.authorization: "Bearer the administrator"]
        let answer = try await host.ask(.put, Self.path, admin, body: body)
        #expect(answer.status == 200)
        #expect(!String(decoding: answer.body, as: UTF8.self).contains("2718"))
        return host
    }

    @Test(arguments: [#"{"pin":"2718"}"#, #"{"admit":"moderator"}"#])
    func `outsiders read how many are in a private room, and not who`(body: String) async throws {
        let host = try await host(body)
        let outsider = try await host.ask(.get, Self.path, from: Self.outside)
        #expect(outsider.json["people"] == 1 && outsider.json["participants"] == [])
        #expect(outsider.json["pin"] == .bool(body.contains("pin")))
        for path in ["/snapshot.png", "/participants/p1/stats"] {
            let answer = try await host.ask(.get, Self.path + path, from: Self.outside)
            #expect(answer.status == 401)
        }
        for bearer in ["the administrator", "p2.s"] {
            let headers: HTTPFields = [.authorization: "Bearer \(bearer)"]
            let insider = try await host.ask(.get, Self.path, headers, from: Self.outside)
            #expect(insider.json["participants"] != [])
            for path in ["/snapshot.png", "/participants/p1/stats"] {
                #expect(try await host.ask(.get, Self.path + path, headers, from: Self.outside).status == 200)
            }
        }
        let other: HTTPFields = [.authorization: "Bearer p2.wrong"]
        #expect(try await host.ask(.get, Self.path, other, from: Self.outside).json["participants"] == [])
    }

    @Test func `with tokens the room's own moderators read a private room, and no other guest does`() async throws {
        let host = try await host(#"{"pin":"2718"}"#, token: true)
        for (room, role, reads) in [
            ("r", Role.moderator, true), ("r", .participant, false), ("other", .moderator, false),
        ] {
            let headers: HTTPFields = [.authorization: "Bearer \(try token(role, room: room))"]
            let answer = try await host.ask(.get, Self.path, headers, from: Self.outside)
            #expect((answer.status == 200 && answer.json["participants"] != []) == reads, "\(role) of \(room)")
            let picture = try await host.ask(.get, Self.path + "/snapshot.png", headers, from: Self.outside)
            #expect(picture.status == (reads ? 200 : 401), "\(role) of \(room)")
        }
    }

    @Test func `an open room is read by everyone`() async throws {
        let host = try await host(#"{"pin":"","admit":"anyone"}"#)
        #expect(try await host.ask(.get, Self.path, from: Self.outside).json["participants"] != [])
        #expect(try await host.ask(.get, Self.path + "/snapshot.png", from: Self.outside).status == 200)
    }

    @Test(arguments: [#"{"pin":"12"}"#, #"{"pin":1234}"#, #"{"pin":"12 34"}"#, #"{"admit":"nobody"}"#])
    func `what is no PIN is refused`(body: String) async throws {
        let answer = try await Host().ask(.put, Self.path, body: body)
        #expect(answer.status == 400)
    }

    @Test func `WHIP takes the PIN as the token, as a query, and refuses without`() async throws {
        let host = try await host(#"{"pin":"2718"}"#)
        func pin(_ query: String = "", bearer: String? = nil) async throws -> String? {
            var headers: HTTPFields = [.contentType: "application/sdp"]
            if let bearer { headers[.authorization] = "Bearer " + bearer }
            _ = try await host.ask(.post, "/whip/r" + query, headers, body: "v=0\r\n")
            return host.service.state.withLock { $0.requests.last?.pin }
        }
        #expect(try await pin() == nil)
        #expect(try await pin(bearer: "2718") == "2718")
        #expect(try await pin("?pin=2718") == "2718")
        #expect(try await pin("?token=2718") == "2718")
        for (error, code) in [(ConferenceError.pinRequired("r"), "pin_required"), (.wrongPIN("r"), "wrong_pin")] {
            host.service.state.withLock { $0.joinError = error }
            let answer = try await host.ask(
                .post, "/whip/r", [.contentType: "application/sdp"], body: "v=0\r\n", from: Self.outside)
            #expect(answer.status == 401 && answer.code == .string(code))
        }
        host.service.state.withLock { $0.joinError = .mustWait("r") }
        let answer = try await host.ask(.post, "/whip/r", [.contentType: "application/sdp"], body: "v=0\r\n")
        #expect(answer.status == 403 && answer.code == "refused")
    }

    // MARK: PINs that are tried

    private func join(
        _ limiter: PINLimiter, _ pin: String?, room: String = "r", address: UInt32 = 1
    ) async -> ErrorCode? {
        var request = AdmittedJoin(room: room, name: "Eve")
        request.pin = pin
        request.client.address = .v4(address)
        do {
            // Without `throws(ConferenceError)`: Swift 6.3.1 crashes on the thunk from that to any error.
            try await limiter.join(request) { (request: AdmittedJoin) async throws -> Void in
                guard let pin = request.pin else { throw ConferenceError.pinRequired(room) }
                if pin != "2718" { throw ConferenceError.wrongPIN(room) }
            }
            return nil
        } catch {
            return Refusal(any: error).code
        }
    }

    @Test func `a flood of PINs finds none, not even the right one, and troubles nobody else`() async {
        let limiter = PINLimiter()
        for _ in 0..<100 { #expect(await join(limiter, "2718") == nil, "right PINs are not limited") }
        var codes: [ErrorCode?: Int] = [:]
        await withTaskGroup(of: ErrorCode?.self) { group in
            for number in 0..<2000 {
                group.addTask { await join(limiter, "\(number % 2 == 0 ? 1000 + number : 2001)") }
            }
            for await code in group { codes[code, default: 0] += 1 }
        }
        #expect((10...12).contains(codes[.wrongPIN] ?? 0) && codes[nil] == nil, "\(codes)")
        #expect(await join(limiter, "2718") == .tooFast)
        #expect(await join(limiter, nil) == .pinRequired)
        #expect(await join(limiter, "2718", address: 2) == nil)
        #expect(await join(limiter, "2718", room: "other") == nil)
    }

    @Test func `a participant's address is for itself and for administrators`() async throws {
        let host = try await host(#"{"pin":"2718"}"#)
        func transport(_ bearer: String, of id: String = "p1") async throws -> JSONValue? {
            let headers: HTTPFields = [.authorization: "Bearer \(bearer)"]
            return try await host.ask(.get, Self.path + "/participants/\(id)/stats", headers, from: Self.outside)
                .json["transport"]
        }
        #expect(try await transport("the administrator") == "udp 203.0.113.7:51234")
        #expect(try await transport("p2.s", of: "p2") == "udp 203.0.113.7:51234")
        #expect(try await transport("p2.s") == "udp")
        let open = try await self.host(#"{"pin":""}"#)
        let stranger = try await open.ask(.get, Self.path + "/participants/p1/stats", from: Self.outside)
        #expect(stranger.json["transport"] == "udp")
    }

    @Test func `a room has one id, whatever the form of its letters in the path`() async throws {
        let host = await Host()
        #expect(try await host.ask(.put, "/api/rooms/K%C3%BCche", body: "{}").status == 201)
        #expect(try await host.ask(.put, "/api/rooms/Ku%CC%88che", body: "{}").status == 200)
    }
}
