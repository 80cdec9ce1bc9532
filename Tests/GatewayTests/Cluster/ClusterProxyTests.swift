import Basics
import Cluster
import Conference
import Foundation
import HTTPTypes
import NIOHTTP1
import TestSupport
import Testing
import Threads
import WebFiles

@testable import Admission
@testable import ClusterGateway
@testable import Gateway
@testable import Settings
@testable import WebServer

/// Requests between two or three nodes, over loopback.
@Suite struct ClusterProxyTests {
    /// A token of a node for another one.
    private func token(_ node: String = "b", for other: String = "b") -> (String, String) {
        (NodeHeaders.token, NodeToken(secret: TestNode.secret, node: node).make(for: other))
    }

    private static let admin = ("Authorization", "Bearer the administrator")

    // MARK: Files of pages

    @Test func `a file of another version's page comes from a node that has it`() async throws {
        let store = FakeStore()
        let a = try await TestNode(
            "a", store, assets: [.page("new"), .text("start.NEWNEWNE.js", "new", isHashed: true)])
        let b = try await TestNode(
            "b", store, assets: [.page("old"), .text("start.OLDOLDOL.js", "old", isHashed: true)])
        let answer = try await a.ask(path: "/assets/start.OLDOLDOL.js")
        #expect(answer.status == 200 && answer.body == "old")
        #expect(answer.headers["cache-control"] == ["public, max-age=31536000, immutable"])
        #expect(answer.headers["vary"] == ["Accept-Encoding"])
        #expect(try await b.ask(path: "/assets/start.NEWNEWNE.js").body == "new", "either way")
        #expect(try await a.ask(path: "/").body == "new", "the page is the node's own")
        let missing = try await a.ask(path: "/assets/start.GONEGONE.js")
        #expect(missing.status == 404 && missing.headers["cache-control"] == ["no-store"])
        await b.stop()
        #expect(try await a.ask(path: "/assets/start.OLDOLDOL.js").status == 404, "the node is gone")
        await a.stop()
    }

    @Test func `who asks for many files that there are not asks this node alone`() async throws {
        let (_, a, b) = try await TestNode.nodes()
        let now = MonotonicClock.now()
        let (one, other) = (try #require(IPAddress("203.0.113.9")), try #require(IPAddress("203.0.113.10")))
        #expect((0..<300).count { _ in a.front.maySearch(for: one, at: now) } == 200)
        #expect(a.front.maySearch(for: other, at: now))
        #expect(try await a.ask(path: "/assets/none.js").status == 404)
        #expect(a.front.metrics.value(.http, .done) == 1)
        await a.stop()
        await b.stop()
    }

    // MARK: Rooms

    @Test func `a room is read from its owner, with the client's address and headers`() async throws {
        let (store, a, b) = try await TestNode.nodes { $0.auth.adminToken = "the administrator" }
        store.own("far", by: "b")
        b.conference.state.withLock { $0.rooms = ["far"] }
        let answer = try await a.ask(path: "/api/rooms/far")
        #expect(answer.status == 200 && answer.json["id"] == "far")
        #expect(answer.headers["x-content-type-options"] == ["nosniff"], "once, by the front")
        #expect(try await a.ask(path: "/api/rooms/none").status == 404, "nobody has it")
        #expect(try await a.ask(.HEAD, "/api/rooms/far").body.isEmpty)
        #expect(try await a.ask(.DELETE, "/api/rooms/far").status == 401, "the front asks for the token")
        #expect(try await a.ask(.DELETE, "/api/rooms/far", [Self.admin]).status == 204)
        #expect(b.conference.asked == ["end far"] && a.conference.asked.isEmpty)
        #expect(a.front.metrics.value(.http, .done) == 3)
        await a.stop()
        await b.stop()
    }

    @Test func `a room that nobody has is placed, and made at its owner with the whole body`() async throws {
        let (store, a, b) = try await TestNode.nodes { $0.auth.adminToken = "the administrator" }
        store.change { $0.next = "b" }
        let answer = try await a.ask(.PUT, "/api/rooms/Daily%20stand-up", [Self.admin], body: #"{"locked":true}"#)
        #expect(answer.status == 201)
        #expect(b.conference.room("Daily stand-up")?.settings.locked == true)
        #expect(a.conference.room("Daily stand-up") == nil)
        #expect(b.keeper.prepared.withLock { $0 } == ["Daily stand-up"], "its stored state came first")
        #expect(try await a.ask(.PUT, "/api/rooms/~socketIO", [Self.admin]).status == 400)
        store.change { $0.next = "a" }
        #expect(try await a.ask(.PUT, "/api/rooms/here", [Self.admin]).status == 201)
        #expect(a.conference.room("here") != nil && a.keeper.prepared.withLock { $0 } == ["here"])
        await a.stop()
        await b.stop()
    }

    @Test func `a room goes on to a node that takes it, each node being asked once`() async throws {
        let (store, a, b) = try await TestNode.nodes { $0.auth.adminToken = "the administrator" }
        store.change { $0.next = "b" }
        b.keeper.isFull.withLock { $0 = true }
        #expect(try await a.ask(.PUT, "/api/rooms/one", [Self.admin], body: #"{"locked":true}"#).status == 201)
        #expect(a.conference.room("one")?.settings.locked == true && b.conference.room("one") == nil)
        #expect(store.placed == ["one", "one again"] && a.front.metrics.value(.http, .full) == 1)
        // The node that is asked is the full one.
        #expect(try await b.ask(.PUT, "/api/rooms/two", [Self.admin]).status == 201)
        #expect(a.conference.room("two") != nil)
        #expect(store.placed == ["one", "one again", "two", "two again"])

        a.keeper.isFull.withLock { $0 = true }
        let answer = try await a.ask(.PUT, "/api/rooms/three", [Self.admin])
        #expect(answer.status == 503 && answer.headers["retry-after"] == ["5"], "no node takes it")
        #expect(answer.headers[NodeHeaders.full].isEmpty && answer.body.contains("every node"))
        #expect(a.conference.room("three") == nil && b.conference.room("three") == nil)
        #expect(try await a.ask(path: "/api/rooms/one").status == 200, "what is there goes on")
        await a.stop()
        await b.stop()
    }

    @Test func `a viewer alone makes no room, but brings back one that lost its owner`() async throws {
        let (store, a, b) = try await TestNode.nodes()
        store.change { $0.next = "b" }
        let sdp = [("Content-Type", "application/sdp")]
        #expect(try await a.ask(.POST, "/whep/new", sdp, body: "v=0").status == 404)
        #expect(store.placed.isEmpty)
        store.change { $0.states["old"] = [] }
        _ = try await a.ask(.POST, "/whep/old", sdp, body: "v=0")
        #expect(store.placed == ["old"] && b.keeper.prepared.withLock { $0 } == ["old"])
        await a.stop()
        await b.stop()
    }

    @Test func `sessions of WHIP carry their node, and large bodies pass as streams`() async throws {
        let (store, a, b) = try await TestNode.nodes { $0.auth.adminToken = "the administrator" }
        store.change { $0.next = "b" }
        let sdp = [("Content-Type", "application/sdp")]
        let made = try await a.ask(.POST, "/whip/room", sdp, body: "v=0\r\n")
        #expect(made.status == 201)
        let path = try #require(made.headers["location"].first)
        #expect(path.hasPrefix("/whip/room/b."))
        // The session stays where it is, whoever has its room now.
        store.own("room", by: "a")
        #expect(try await a.ask(.DELETE, path).status == 200)
        #expect(b.conference.asked.contains("leave"))
        // A picture of 3 MiB is a stream both ways.
        store.own("room", by: "b")
        b.conference.state.withLock { $0.rooms = ["room"] }
        let picture = "GIF89a" + String(repeating: "x", count: 3 << 20)
        let sent = try await a.ask(
            .POST, "/api/rooms/room/chat/pictures", [("Authorization", "Bearer p2.s"), ("Content-Type", "image/gif")],
            body: picture)
        #expect(sent.status == 201 && b.conference.asked.contains("store \(picture.utf8.count)"))
        await a.stop()
        await b.stop()
    }

    @Test func `a recording's file comes from its node, whole and in parts`() async throws {
        let directory = ScratchDirectory()
        let file = directory.file("rec.mp4")
        let bytes = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
        try bytes.write(to: URL(fileURLWithPath: file))
        let store = FakeStore()
        let a = try await TestNode("a", store)
        let b = try await TestNode("b", store, conference: FakeConference(file: file))
        b.conference.state.withLock { $0.finished = ["b-1"] }
        let whole = try await a.ask(path: "/api/recordings/b-1/file")
        #expect(whole.status == 200 && whole.headers["content-length"] == ["300000"])
        let part = try await a.ask(.GET, "/api/recordings/b-1/file", [("Range", "bytes=100-199")])
        #expect(part.status == 206 && part.headers["content-range"] == ["bytes 100-199/300000"])
        #expect(part.headers["content-length"] == ["100"])
        #expect(try await a.ask(path: "/api/recordings/b-2").status == 404)
        #expect(try await a.ask(path: "/api/recordings/b-1").json["id"] == "b-1")
        // One that was made before there was a cluster is found.
        b.conference.state.withLock { $0.finished = ["old"] }
        #expect(try await a.ask(path: "/api/recordings/old").status == 200)
        #expect(try await a.ask(path: "/api/recordings/older").status == 404)
        #expect(a.front.node(ofID: "b-1")?.id == "b" && a.front.node(ofID: "c-1") == nil)
        await a.stop()
        await b.stop()
    }

    // MARK: Owners that are not

    @Test func `a node that is not the owner says so, and the front asks the store once more`() async throws {
        let (store, a, b) = try await TestNode.nodes()
        let c = try await TestNode("c", store)
        store.own("moved", by: "c")
        c.conference.state.withLock { $0.rooms = ["moved"] }
        let old = RoomOwner(node: b.directory.here, epoch: 0, isHere: false)
        a.directory.believed.withLock { $0["moved"] = old }
        #expect(try await a.ask(path: "/api/rooms/moved").status == 200)
        #expect(a.front.metrics.value(.http, .misdirected) == 1)
        // Where the store says the same again, the client tries again.
        let answer = try await b.ask(.GET, "/api/rooms/moved", [token("a")], internally: true)
        #expect(answer.status == 421 && answer.headers[NodeHeaders.owner] == ["c"])
        await a.stop()
        await b.stop()
        await c.stop()
    }

    @Test func `a higher epoch ends a room that another node has`() async throws {
        let (store, a, b) = try await TestNode.nodes()
        store.own("room", by: "b")
        let believed = RoomOwner(node: b.directory.here, epoch: 1, isHere: true)
        store.own("room", by: "a")
        b.directory.believed.withLock { $0["room"] = believed }
        let epoch = (NodeHeaders.epoch, "2")
        let same = try await b.ask(.GET, "/api/rooms/room", [token("a"), (NodeHeaders.epoch, "1")], internally: true)
        #expect(same.status == 404 && b.keeper.lost.withLock { $0 }.isEmpty, "it has the room, by all that is known")
        let answer = try await b.ask(.GET, "/api/rooms/room", [token("a"), epoch], internally: true)
        #expect(answer.status == 421 && b.keeper.lost.withLock { $0 } == ["room"])
        // Without the store, rooms stay where they are.
        b.directory.believed.withLock { $0["room"] = believed }
        store.change { $0.isDown = true }
        #expect(try await b.ask(.GET, "/api/rooms/room", [token("a"), epoch], internally: true).status == 404)
        #expect(b.keeper.lost.withLock { $0 } == ["room"])
        await a.stop()
        await b.stop()
    }

    @Test func `an owner whose port is closed is gone, and its room is placed anew`() async throws {
        let (store, a, b) = try await TestNode.nodes { $0.auth.adminToken = "the administrator" }
        store.own("room", by: "b")
        b.directory.listens(at: "http://127.0.0.1:\(try await closedPort())")
        #expect(try await a.ask(.PUT, "/api/rooms/room", [Self.admin], body: "{}").status == 201)
        #expect(store.gone == ["room"] && a.conference.room("room") != nil)
        #expect(a.front.metrics.value(.http, .refused) == 2)
        await a.stop()
        await b.stop()
    }

    @Test(arguments: [nil, "rubbish\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"])
    func `an owner that answers rubbish, or never, costs a bounded time`(words: String?) async throws {
        let (store, a, b) = try await TestNode.nodes(timing: TestNode.quick)
        store.own("room", by: "b")
        let strange = try await StrangeNode(words)
        b.directory.listens(at: strange.url)
        let start = ContinuousClock.now
        let answer = try await a.ask(path: "/api/rooms/room")
        #expect(answer.status == 503 && answer.json["error"]?["code"] == "overloaded")
        #expect(answer.headers["retry-after"] == ["1"])
        #expect(ContinuousClock.now - start < .seconds(45), "a minute without the bound")
        #expect(store.gone.isEmpty, "only a refused connection is a proof")
        let list = try await a.ask(path: "/api/rooms")
        #expect(list.status == 200 && list.headers[NodeHeaders.incomplete] == ["b"])
        await strange.stop()
        await a.stop()
        await b.stop()
    }

    @Test func `without the store known rooms are reached, and new ones get 503`() async throws {
        let (store, a, b) = try await TestNode.nodes { $0.auth.adminToken = "the administrator" }
        store.own("far", by: "b")
        b.conference.state.withLock { $0.rooms = ["far"] }
        store.change { $0.isDown = true }
        #expect(try await a.ask(path: "/api/rooms/far").status == 200)
        let answer = try await a.ask(.PUT, "/api/rooms/new", [Self.admin])
        #expect(answer.status == 503 && answer.headers["retry-after"] == ["2"])
        #expect(answer.json["error"]?["code"] == "overloaded")
        await a.stop()
        await b.stop()
    }

    // MARK: Lists

    @Test func `lists have what every node has, and name the nodes that are missing`() async throws {
        let (store, a, b) = try await TestNode.nodes()
        a.conference.state.withLock { $0.rooms = ["near"] }
        b.conference.state.withLock { $0.rooms = ["far"] }
        let rooms = try await a.ask(path: "/api/rooms")
        guard case .array(let items) = rooms.json else { throw CancellationError() }
        #expect(items.compactMap { $0["id"] } == ["far", "near"])
        #expect(rooms.headers[NodeHeaders.incomplete].isEmpty)

        a.conference.state.withLock { $0.finished = ["a-9", "a-1"] }
        b.conference.state.withLock { $0.finished = ["b-5", "b-2"] }
        func ids(_ query: String) async throws -> [JSONValue?] {
            let answer = try await a.ask(path: "/api/recordings" + query)
            guard case .array(let items) = answer.json else { return [.string("\(answer.status)")] }
            return items.map { $0["id"] }
        }
        #expect(try await ids("") == ["b-5", "b-2", "a-9", "a-1"])
        #expect(try await ids("?limit=3") == ["b-5", "b-2", "a-9"])
        #expect(try await ids("?limit=3&before=b-2") == ["a-9", "a-1"])
        #expect(try await ids("?before=a-9") == ["a-1"])
        #expect(try await ids("?before=b-77") == ["400"])
        #expect(try await ids("?limit=0") == ["400"])

        b.directory.listens(at: "http://127.0.0.1:\(try await closedPort())")
        let half = try await a.ask(path: "/api/rooms")
        #expect(half.status == 200 && half.headers[NodeHeaders.incomplete] == ["b"])
        _ = store
        await a.stop()
        await b.stop()
    }

    @Test func `an avatar goes to every node`() async throws {
        let (_, a, b) = try await TestNode.nodes { $0.auth.adminToken = "the administrator" }
        let all = try await a.ask(.PUT, "/api/avatars/anna", [Self.admin], body: "x")
        #expect(all.status == 204 && all.headers[NodeHeaders.incomplete].isEmpty)
        #expect(a.conference.asked == ["store avatar anna"] && b.conference.asked == ["store avatar anna"])
        b.directory.listens(at: "http://127.0.0.1:\(try await closedPort())")
        let half = try await a.ask(.PUT, "/api/avatars/anna", [Self.admin], body: "x")
        #expect(half.status == 204 && half.headers[NodeHeaders.incomplete] == ["b"])
        await a.stop()
        await b.stop()
    }

    @Test func `a layout goes into the store, after the checks`() async throws {
        let (store, a, b) = try await TestNode.nodes { $0.auth.adminToken = "the administrator" }
        var layouts: [String: [UInt8]] { store.state.withLock { $0.layouts } }
        let path = "/api/layouts/mine"
        #expect(try await a.ask(.PUT, path, body: "{}").status == 401)
        #expect(try await a.ask(.PUT, path, [Self.admin], body: "[]").status == 422)
        #expect(try await a.ask(.PUT, "/api/layouts/MINE", [Self.admin], body: "{}").status == 400)
        #expect(layouts.isEmpty)
        #expect(try await a.ask(.PUT, path, [Self.admin], body: "{}").status == 201)
        #expect(layouts == ["mine": Array("{}".utf8)])

        // Without the store nothing changes, and the client knows when to come back.
        store.change { $0.isDown = true }
        for method in [HTTPMethod.PUT, .DELETE] {
            let answer = try await b.ask(method, path, [Self.admin], body: "{ }")
            #expect(answer.status == 503 && answer.headers["retry-after"] == ["2"])
            #expect(answer.body.contains("store does not answer"))
        }
        #expect(layouts == ["mine": Array("{}".utf8)])
        store.change { $0.isDown = false }

        #expect(try await a.ask(.PUT, "/api/layouts/other", [Self.admin], body: "{}").status == 201)
        #expect(try await a.ask(.PUT, "/api/layouts/third", [Self.admin], body: "{}").status == 409, "there are enough")
        #expect(try await b.ask(.DELETE, "/api/layouts/used", [Self.admin]).status == 409)
        a.keeper.layouts.withLock { $0 = ["mine"] }
        let used = try await b.ask(.DELETE, path, [Self.admin])
        #expect(used.status == 409 && used.body.contains("layout_in_use"), "by a room of another node")
        a.keeper.layouts.withLock { $0 = [] }
        #expect(try await b.ask(.DELETE, path, [Self.admin]).status == 204, "by any node")
        #expect(layouts.keys.sorted() == ["other"])
        #expect(try await b.ask(.DELETE, path, [Self.admin]).status == 404)
        #expect(try await b.ask(.DELETE, "/api/layouts/grid", [Self.admin]).status == 409, "it is none of the store")
        await a.stop()
        await b.stop()
    }

    @Test func `a layout stays while a node does not say whether it is in use`() async throws {
        let (store, a, b) = try await TestNode.nodes(timing: TestNode.quick) {
            $0.auth.adminToken = "the administrator"
        }
        let path = "/api/layouts/mine"
        #expect(try await b.ask(.PUT, path, [Self.admin], body: "{}").status == 201)
        let reachable = b.directory.here.url
        b.directory.listens(at: "http://127.0.0.1:\(try await closedPort())")
        let answer = try await a.ask(.DELETE, path, [Self.admin])
        #expect(answer.status == 503 && answer.headers["retry-after"] == ["2"] && answer.body.contains("the nodes b"))
        #expect(store.state.withLock { $0.layouts.keys.contains("mine") })
        b.directory.listens(at: reachable)
        #expect(try await a.ask(.DELETE, path, [Self.admin]).status == 204)
        // Nobody asks from outside.
        #expect(try await a.ask(.GET, "/cluster/layouts/mine").status == 404)
        await a.stop()
        await b.stop()
    }

    @Test func `the Socket IO family is at one node`() async throws {
        let (store, a, b) = try await TestNode.nodes()
        store.change { $0.next = "b" }
        let here = try await b.ask(path: "/socket.io/?EIO=3&transport=polling")
        let there = try await a.ask(path: "/socket.io/?EIO=3&transport=polling")
        #expect(here.status == 403 && there.status == 403 && there.json == here.json, "both are of node b")
        #expect(
            store.placed == ["~socketIO"] && b.front.singletonsHere == ["~socketIO"] && a.front.singletonsHere.isEmpty)
        await a.stop()
        await b.stop()
    }

    // MARK: The internal listener

    @Test func `strangers get 401 at the internal port, before any work`() async throws {
        let (_, a, b) = try await TestNode.nodes()
        let other = NodeToken(secret: "another secret of the nodes, 32 bytes", node: "b").make(for: "b")
        let old = NodeToken(secret: TestNode.secret, node: "b").make(for: "b", at: .now - 60)
        let cases: [([(String, String)], String)] = [
            ([], "secret"), ([(NodeHeaders.token, "")], "secret"), ([(NodeHeaders.token, "nonsense")], "secret"),
            ([(NodeHeaders.token, other)], "secret"), ([(NodeHeaders.token, old)], "clock"),
            ([token("a", for: "c")], "node"), ([("Authorization", "Bearer " + token().1)], "secret"),
        ]
        for (bad, why) in cases {
            for path in ["/api/rooms", "/healthz", "/", "/cluster/alive", "/nowhere"] {
                let answer = try await b.ask(.GET, path, bad, internally: true)
                #expect(answer.status == 401 && answer.headers[NodeHeaders.refused] == [why], "\(path) \(bad)")
                #expect(answer.headers["connection"] == ["close"])
            }
        }
        #expect(
            try await TestSocket(port: Int(b.internalURL.split(separator: ":").last ?? "") ?? 0, "/signal") == nil)
        #expect(try await b.ask(.GET, "/cluster/alive", [token()], internally: true).json["node"] == "b")
        await a.stop()
        await b.stop()
    }

    @Test func `a node with another secret is no answer for a client`() async throws {
        let store = FakeStore()
        let a = try await TestNode("a", store)
        let b = try await TestNode("b", store) { $0.cluster.secret = "another secret of the nodes, 32 bytes" }
        store.own("room", by: "b")
        let answer = try await a.ask(path: "/api/rooms/room")
        #expect(answer.status == 503 && a.front.metrics.value(.http, .invalidAnswer) == 1)

        // Its rooms stay where they are; one that was placed there just now goes elsewhere.
        store.change { $0.next = "b" }
        let sdp = ("Content-Type", "application/sdp")
        #expect(try await a.ask(.POST, "/whip/room", [sdp], body: "v=0\r\n").status == 503)
        #expect(try await a.ask(.POST, "/whip/new", [sdp], body: "v=0\r\n").status == 201)
        #expect(store.placed == ["new", "new again"] && a.front.metrics.value(.http, .invalidAnswer) == 3)
        await a.stop()
        await b.stop()
    }

    @Test func `where no node understands this one, a new room is refused once by each`() async throws {
        let store = FakeStore()
        let a = try await TestNode("a", store)
        var others: [TestNode] = []
        for id in ["b", "c"] {
            others.append(
                try await TestNode(id, store) { $0.cluster.secret = "another secret of the nodes, 32 bytes" })
        }
        store.change { $0.next = "b" }
        a.keeper.isFull.withLock { $0 = true }
        let sdp = ("Content-Type", "application/sdp")
        let answer = try await a.ask(.POST, "/whip/new", [sdp], body: "v=0\r\n")
        #expect(answer.status == 503 && a.front.metrics.value(.http, .invalidAnswer) == 2)
        for node in [a] + others { await node.stop() }
    }

    @Test func `a forwarded request is never local, and its own proxies count for nothing`() async throws {
        let (store, a, b) = try await TestNode.nodes()
        store.own("r", by: "b")
        // At the node itself, loopback administers; through another node it does not.
        #expect(try await b.ask(.PUT, "/api/rooms/r").status == 200)
        #expect(try await a.ask(.PUT, "/api/rooms/r").status == 403)
        let headers = [token("a"), (NodeHeaders.client, "127.0.0.1"), (NodeHeaders.address, "http://localhost:8080")]
        #expect(try await b.ask(.PUT, "/api/rooms/r", headers, internally: true).status == 403)
        // The address for limits is the front's finding, whatever the client's headers say.
        let forged = [
            ("X-Forwarded-For", "198.51.100.7"), ("Tessera-Client", "198.51.100.7"), ("X-Real-IP", "1.2.3.4"),
        ]
        let sdp = ("Content-Type", "application/sdp")
        #expect(try await a.ask(.POST, "/whip/r", forged + [sdp], body: "v=0\r\n").status == 201)
        #expect(b.conference.state.withLock { $0.requests.last?.client.address } == IPAddress("127.0.0.1"))
        await a.stop()
        await b.stop()
    }

    @Test func `what comes back from a node goes round no second time`() async throws {
        let (store, a, b) = try await TestNode.nodes()
        store.own("room", by: "b")
        // cluster.advertise of b is the public port of a.
        b.directory.listens(at: a.url)
        let answer = try await a.ask(path: "/api/rooms/room")
        #expect(answer.status == 421 || answer.status == 503)
        #expect(a.front.metrics.value(.http, .done) + a.front.metrics.value(.http, .misdirected) <= 2)
        #expect(try await a.ask(.GET, "/api/rooms/room", [(NodeHeaders.token, "x")]).status == 421)
        await a.stop()
        await b.stop()
    }

    // MARK: Health and drain

    @Test func `readiness sees a node that is alone or being emptied; health does not`() async throws {
        let (store, a, b) = try await TestNode.nodes { $0.auth.adminToken = "the administrator" }
        for (standing, status) in [
            (ClusterView.MembershipState.sure, 200), (.unsure, 200), (.alone, 503), (.joining, 503),
        ] {
            a.directory.standing.withLock { $0 = standing }
            #expect(try await a.ask(path: "/readyz").status == status, "\(standing)")
            #expect(try await a.ask(path: "/healthz").status == 200)
        }
        a.directory.standing.withLock { $0 = .sure }
        #expect(try await a.ask(.POST, "/api/node/drain", body: "{}").status == 401)
        for bad in [#"{"mode":"now"}"#, #"{"within":0}"#, #"{"within":1e9}"#, #"{"when":1}"#] {
            #expect(try await a.ask(.POST, "/api/node/drain", [Self.admin], body: bad).status == 400, "\(bad)")
        }
        let wish = #"{"mode":"wait","within":2.5}"#
        #expect(try await a.ask(.POST, "/api/node/drain", [Self.admin], body: wish).status == 202)
        #expect(await eventually { a.drained.withLock { $0.count } == 1 })
        #expect(a.drained.withLock { $0.first?.within } == .milliseconds(2500))
        #expect(a.drained.withLock { $0.first?.mode } == .wait && store.state.withLock { $0.draining } == ["a"])
        #expect(try await a.ask(path: "/readyz").json["error"]?["code"] == "draining")
        store.own("far", by: "b")
        b.conference.state.withLock { $0.rooms = ["far"] }
        #expect(try await a.ask(path: "/api/rooms/far").status == 200, "it still proxies")
        #expect(try await a.ask(.DELETE, "/api/node/drain", [Self.admin]).status == 204)
        #expect(try await a.ask(path: "/readyz").status == 200 && store.state.withLock { $0.draining }.isEmpty)
        await a.stop()
        await b.stop()
    }

    @Test func `a server without a cluster has no drain`() async throws {
        #expect(try await Host().ask(.post, "/api/node/drain").status == 404)
        #expect(try await Host().ask(.delete, "/api/node/drain").status == 404)
    }
}

extension TestNode {
    fileprivate func ask(path: String) async throws -> Answer { try await ask(.GET, path) }
}
