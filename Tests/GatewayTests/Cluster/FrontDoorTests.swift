import Basics
import Cluster
import Conference
import EndpointTestSupport
import Foundation
import NIOHTTP1
import TestSupport
import Testing

@testable import Admission
@testable import ClusterGateway
@testable import Gateway
@testable import Settings
@testable import WebServer

/// What a front checks before it places a room.
@Suite struct FrontDoorTests {
    private func nodes() async throws -> (FakeStore, a: TestNode, b: TestNode) {
        let (store, a, b) = try await TestNode.nodes {
            ($0.auth.mode, $0.auth.secret, $0.auth.adminToken) = (.token, "correct", "the administrator")
            ($0.doors.appRTC, $0.doors.webrtcDemo) = (true, true)
        }
        store.change { $0.next = "b" }
        return (store, a, b)
    }

    private func token(_ room: String) throws -> String {
        try TokenClaims(room: room, name: "Ann", exp: .distantFuture).signed("correct")
    }

    @Test func `no room is placed for who has no token, a wrong one, one of another room, or a foreign page`()
        async throws
    {
        let (store, a, b) = try await nodes()
        let sdp = ("Content-Type", "application/sdp")
        let (bad, other) = ("Bearer nonsense", "Bearer " + (try token("other")))
        for bearer in [nil, bad, other] {
            let headers = [sdp] + (bearer.map { [("Authorization", $0)] } ?? [])
            for (method, path) in [
                (HTTPMethod.POST, "/whip/new"), (.POST, "/whep/new"), (.PUT, "/api/rooms/new"), (.POST, "/join/new"),
            ] {
                let status = try await a.ask(method, path, headers, body: "v=0\r\n").status
                #expect([401, 403].contains(status) || path == "/join/new", "\(path) \(status)")
            }
        }
        let page = [("Origin", "https://evil.example"), sdp]
        #expect(try await a.ask(.POST, "/whip/new", page, body: "v=0").status == 403)
        #expect(store.placed.isEmpty, "\(store.placed)")
        #expect(a.front.metrics.value(.http, .done) == 0, "nor did the other node do anything")

        let good = [sdp, ("Authorization", "Bearer " + (try token("new")))]
        #expect(try await a.ask(.POST, "/whip/new", good, body: "v=0\r\n").status == 201)
        #expect(store.placed == ["new"])
        let admin = [("Authorization", "Bearer the administrator")]
        #expect(try await a.ask(.PUT, "/api/rooms/made", admin, body: "{}").status == 201)
        #expect(store.placed == ["new", "made"])
        await a.stop()
        await b.stop()
    }

    @Test func `a join by WebSocket places no room without a token, and one with it does`() async throws {
        let (store, a, b) = try await nodes()
        let client = try #require(try await TestSocket(port: a.port, "/signal"))
        for token in ["", "nonsense", try token("other")] {
            await client.send(#"{"type":"join","room":"new","name":"Ann","token":"\#(token)"}"#)
        }
        await client.send(#"{"type":"join","room":"new","resume":{"id":"p","secret":"a.b.c"}}"#)
        #expect(await eventually { client.types() == ["error", "error", "error", "error"] }, "\(client.received)")
        #expect(store.placed.isEmpty && a.conference.state.withLock { $0.requests.isEmpty })
        await client.send(#"{"type":"join","room":"new","name":"Ann","token":"\#(try token("new"))"}"#)
        #expect(await eventually { client.types().last == "joined" }, "\(client.received)")
        #expect(store.placed == ["new"])
        client.end()

        // Who comes back shows the secret of its seat instead.
        let secret = ClusterTickets(secret: TestNode.secret).secret(
            of: SeatTicket(
                room: "old", meeting: "m", id: "p", name: "Ann", role: .participant, roleIsProven: true,
                isNative: true, issuedAt: Date()))
        let back = try #require(try await TestSocket(port: a.port, "/signal"))
        await back.send(#"{"type":"join","resume":{"id":"p","secret":"\#(secret)"}}"#)
        #expect(await eventually { store.placed == ["new", "old"] })
        back.end()

        let demo = try #require(try await TestSocket(port: a.port, "/third?token=nonsense"))
        await demo.send("{}")
        try await Task.sleep(for: .milliseconds(300))
        #expect(store.placed == ["new", "old"])
        demo.end()
        await a.stop()
        await b.stop()
    }

    @Test func `in mode open everybody may have a room`() throws {
        let door = FrontDoor()
        try door.check("r", token: nil, secret: nil)
        let guarded = FrontDoor(authorizer: JoinAuthorizer(verifier: TokenVerifier(secret: "correct")))
        #expect(throws: Refusal.self) { try guarded.check("r", token: nil, secret: nil) }
        try guarded.check("r", token: try token("r"), secret: nil)
    }
}
