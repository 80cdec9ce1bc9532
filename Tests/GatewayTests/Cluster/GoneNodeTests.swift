import Basics
import Cluster
import Conference
import Foundation
import NIOHTTP1
import TestSupport
import Testing

@testable import Admission
@testable import ClusterGateway
@testable import Gateway
@testable import Settings
@testable import WebServer

/// Requests that wait for a node when it is gone, and nodes that one path does not reach.
@Suite struct GoneNodeTests {
    private static let sdp = ("Content-Type", "application/sdp")

    /// A node `b` that takes connections, and whatever it is asked says `words`; nil: nothing.
    private func strange(_ words: String?, _ b: TestNode) async throws -> (StrangeNode, NodeRecord) {
        let node = try await StrangeNode(words)
        b.directory.listens(at: node.url)
        return (node, b.directory.here)
    }

    @Test func `what waits for a node ends when the store says that it is gone, and a held body goes to the new owner`()
        async throws
    {
        let (store, a, b) = try await TestNode.nodes()
        let (node, record) = try await strange(nil, b)
        store.own("r", by: "b")
        async let posted = a.ask(.POST, "/whip/r", [Self.sdp], body: "v=0\r\n")
        async let read = a.ask(.GET, "/api/rooms/r")
        async let listed = a.ask(.GET, "/api/rooms/r/snapshot.png")
        #expect(await eventually { node.messages >= 3 })
        store.change { state in
            (state.nodes["b"], state.owners["r"], state.next) = (nil, nil, "a")
        }
        a.front.nodeIsGone(record)
        let answer = try await posted
        #expect(answer.status == 201, "\(answer.body)")
        #expect(a.conference.state.withLock { $0.requests.map(\.room) } == ["r"])
        for other in try await [read, listed] { #expect([200, 404].contains(other.status), "\(other)") }
        await node.stop()
        await a.stop()
        await b.stop()
    }

    @Test func `an answer that has begun ends with its node`() async throws {
        let (store, a, b) = try await TestNode.nodes()
        let (node, record) = try await strange("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nsome", b)
        store.own("r", by: "b")
        let client = try await TestBytes(port: a.port)
        await client.send(Array("GET /api/rooms/r HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8))
        #expect(await eventually { client.text.hasSuffix("some") })
        a.front.nodeIsGone(record)
        #expect(await eventually(.seconds(20)) { client.isEnded })
        await node.stop()
        await a.stop()
        await b.stop()
    }

    @Test func `another process of the same node is reached all the same`() async throws {
        let (store, a, b) = try await TestNode.nodes()
        store.own("r", by: "b")
        b.conference.state.withLock { $0.rooms = ["r"] }
        #expect(try await a.ask(.GET, "/api/rooms/r").status == 200)
        var old = b.directory.here
        a.front.nodeIsGone(old)
        #expect(try await a.ask(.GET, "/api/rooms/r").status == 200)
        old.incarnation = "another"
        a.front.nodeIsGone(old)
        #expect(try await a.ask(.GET, "/api/rooms/r").status == 200)
        await a.stop()
        await b.stop()
    }

    @Test func `a living owner that refuses this node's connections keeps its room`() async throws {
        let (store, a, b) = try await TestNode.nodes { $0.auth.adminToken = "the administrator" }
        store.own("room", by: "b")
        store.change { $0.living = ["b"] }
        b.directory.listens(at: "http://127.0.0.1:\(try await closedPort())")
        let answer = try await a.ask(
            .PUT, "/api/rooms/room", [("Authorization", "Bearer the administrator")], body: "{}")
        #expect(answer.status == 503 && answer.headers["retry-after"] == ["1"])
        #expect(store.gone.isEmpty && a.conference.room("room") == nil)
        #expect(store.state.withLock { $0.owners["room"]?.node } == "b")
        await a.stop()
        await b.stop()
    }
}
