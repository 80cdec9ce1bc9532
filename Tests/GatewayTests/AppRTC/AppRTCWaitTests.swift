import Basics
import Conference
import HTTPTypes
import TestSupport
import Testing

@testable import Admission
@testable import AppEndpoints
@testable import Gateway
@testable import Settings
@testable import WebServer

/// AppRTC's clients at a room where a moderator has to let them in.
@Suite struct AppRTCWaitTests {
    private static let offer = #"{"type":"offer","sdp":"v=0\r\n"}"#
    private static let candidate = #"{"type":"candidate","label":0,"id":"0","candidate":"candidate:1"}"#

    private func post(_ host: Host, _ path: String, _ body: String = "") async throws -> JSONValue {
        try await host.ask(.post, path, body: body, from: "203.0.113.9").json
    }

    /// Joins while people have to wait. Returns the path of the client's messages.
    private func wait(_ host: Host) async throws -> String {
        host.service.makeWait(true)
        let answer = try await post(host, "/join/r?name=Anna")
        #expect(answer["result"] == "SUCCESS" && answer["params"]?["is_initiator"] == "true")
        host.service.makeWait(false)
        guard case .string(let id)? = answer["params"]?["client_id"] else { return "" }
        return "/message/r/\(id)"
    }

    @Test func `the join succeeds, and the offer is answered once the client is let in`() async throws {
        let host = await Host()
        let path = try await wait(host)
        for body in [Self.candidate, Self.offer, Self.offer, Self.candidate] {
            #expect(try await post(host, path, body) == ["result": "SUCCESS"])
        }
        #expect(host.service.asked == ["join r Anna participant"], "nothing of a client that waits")
        host.service.decide(.admitted)
        #expect(await eventually { host.service.asked.filter { $0.hasPrefix("candidate") }.count == 2 })
        #expect(host.service.state.withLock { $0.requests.last?.admission } == "w1")
        #expect(try await post(host, path, Self.offer) == ["result": "SUCCESS"])
    }

    @Test(arguments: [WaitingEnd.refused, .timeout, .ended(.roomEnded)])
    func `who is not let in is unknown from then on`(_ end: WaitingEnd) async throws {
        let host = await Host()
        let path = try await wait(host)
        host.service.decide(end)
        #expect(
            await eventually { (try? await post(host, path, Self.candidate)) == ["result": "UNKNOWN_CLIENT"] }
                && !host.service.asked.contains("leave"))
        let metrics = String(decoding: try await host.ask(.get, "/metrics").body, as: UTF8.self)
        #expect(metrics.contains("tessera_apprtc_clients 0"))
    }

    @Test func `who hangs up waits no more`() async throws {
        let host = await Host()
        let path = try await wait(host)
        _ = try await post(host, path, #"{"type":"bye"}"#)
        #expect(await eventually { host.service.asked.contains("stop waiting w1") })
        #expect(try await post(host, path, Self.offer) == ["result": "UNKNOWN_CLIENT"])
    }

    @Test func `of a client that waits one offer and a bounded number of candidates are kept`() async throws {
        let host = await Host { $0.limits.requestsPerSecondPerAddress = 10_000 }
        let path = try await wait(host)
        for _ in 0..<200 { _ = try await post(host, path, Self.candidate) }
        _ = try await post(host, path, Self.offer)
        host.service.decide(.admitted)
        #expect(await eventually { host.service.asked.filter { $0.hasPrefix("candidate") }.count == 64 })
    }

    @Test(
        arguments: [
            ("demo", "demo", nil), ("demo_pin_2718", "demo", "2718"), ("a_pin_1_pin_abcd", "a_pin_1", "abcd"),
            ("demo_pin_27", "demo_pin_27", nil), ("_pin_2718", "_pin_2718", nil), ("demo_pin_", "demo_pin_", nil),
            ("demo_pin_27-18", "demo_pin_27-18", nil),
        ] as [(String, String, String?)])
    func `a PIN in the room's name`(text: String, room: String, pin: String?) {
        let name = AppRTCRoomName(text)
        #expect(name.room == room && name.pin == pin && name.text == text)
    }

    @Test func `the PIN goes to the room, and the client keeps the name that it gave`() async throws {
        let host = await Host()
        let answer = try await post(host, "/join/r_pin_2718")
        guard case .string(let id)? = answer["params"]?["client_id"] else {
            Issue.record("\(answer)")
            return
        }
        #expect(
            answer["params"]?["room_id"] == "r_pin_2718"
                && answer["params"]?["room_link"] == "http://localhost:8080/r/r")
        let request = try #require(host.service.state.withLock { $0.requests.last })
        #expect(request.room == "r" && request.pin == "2718")
        #expect(try await post(host, "/message/r_pin_2718/\(id)", Self.offer) == ["result": "SUCCESS"])
    }
}
