import Basics
import Cluster
import Conference
import Foundation
import TestSupport
import Testing

@testable import Admission
@testable import AppEndpoints
@testable import ClusterGateway
@testable import Gateway
@testable import Settings
@testable import WebServer

/// WebSockets between two nodes, over loopback.
@Suite struct ClusterSocketTests {
    private func join(_ room: String) -> String { #"{"type":"join","room":"\#(room)","name":"Anna"}"# }

    private func socket(_ node: TestNode, _ path: String = "/signal") async throws -> TestSocket {
        try #require(try await TestSocket(port: node.port, path))
    }

    @Test func `a client joins its room at the owner, by any node`() async throws {
        let (store, a, b) = try await TestNode.nodes()
        store.own("far", by: "b")
        let client = try await socket(a)
        await client.send("{}")
        #expect(await eventually { client.types() == ["error"] }, "the front's endpoint answers what names no room")
        await client.send(join("far"))
        #expect(await eventually { client.types().contains("joined") }, "\(client.received)")
        #expect(b.conference.state.withLock { $0.requests.map(\.room) } == ["far"])
        #expect(b.conference.state.withLock { $0.requests.first?.client.address } == IPAddress("127.0.0.1"))
        #expect(a.conference.asked.isEmpty && a.front.pipes.count == 1)
        #expect(b.keeper.prepared.withLock { $0 }.contains("far"))
        // Whatever follows goes the same way, and the answers come back.
        await client.send(#"{"type":"chat","text":"hello"}"#)
        #expect(await eventually { b.conference.asked.contains("chat hello to all") })
        await client.send(#"{"type":"offer","sdp":"v=0"}"#)
        #expect(await eventually { client.types().contains("answer") })
        // A second join is the endpoint's to refuse, also for a room elsewhere.
        store.own("near", by: "a")
        await client.send(join("near"))
        #expect(await eventually { client.types().last == "error" })
        #expect(a.conference.asked.isEmpty)
        await client.close(1001)
        #expect(await eventually { b.conference.asked.contains("lost") }, "the owner knows at once")
        #expect(await eventually { a.front.pipes.count == 0 })
        await a.stop()
        await b.stop()
    }

    @Test func `a room that is here is served here, the first message included`() async throws {
        let (store, a, b) = try await TestNode.nodes()
        store.change { $0.next = "a" }
        let client = try await socket(a)
        await client.send(join("new"))
        #expect(await eventually { client.types() == ["joined"] })
        #expect(store.placed == ["new"] && a.keeper.prepared.withLock { $0 } == ["new"])
        #expect(a.conference.asked == ["join new Anna participant"] && a.front.pipes.count == 0)
        await client.send(#"{"type":"leave"}"#)
        #expect(await eventually { client.types().last == "left" && client.closeCode == 1000 })
        await b.stop()
        await a.stop()
    }

    @Test func `a join goes on to a node that takes the room`() async throws {
        let (store, a, b) = try await TestNode.nodes()
        store.change { $0.next = "b" }
        b.keeper.isFull.withLock { $0 = true }
        let client = try await socket(a)
        await client.send(join("new"))
        #expect(await eventually { client.types() == ["joined"] }, "\(client.received)")
        #expect(a.conference.state.withLock { $0.requests.map(\.room) } == ["new"])
        #expect(a.front.metrics.value(.webSocket, .full) == 1)
        a.keeper.isFull.withLock { $0 = true }
        let late = try await socket(a)
        await late.send(join("newer"))
        #expect(await eventually { late.types() == ["error"] && late.received[0].contains("every node") })
        await a.stop()
        await b.stop()
    }

    @Test func `after a refused join another room may be on another node`() async throws {
        let (store, a, b) = try await TestNode.nodes()
        store.own("near", by: "a")
        store.own("far", by: "b")
        a.conference.state.withLock { $0.joinError = .unknownLayout("x") }
        let client = try await socket(a)
        await client.send(join("near"))
        #expect(await eventually { client.types() == ["error"] })
        await client.send(join("far"))
        #expect(await eventually { client.types() == ["error", "joined"] })
        #expect(b.conference.state.withLock { $0.requests.count } == 1)
        client.end()
        await a.stop()
        await b.stop()
    }

    @Test func `a ticket says where to go`() async throws {
        let (store, a, b) = try await TestNode.nodes()
        store.own("far", by: "b")
        let client = try await socket(a)
        let payload = Data(#"{"room":"far"}"#.utf8).base64EncodedString().replacing("=", with: "")
        await client.send(#"{"type":"join","resume":{"id":"p1","secret":"x.\#(payload).y"}}"#)
        #expect(await eventually { client.types() == ["error"] }, "the owner does not know the seat")
        #expect(a.front.metrics.value(.webSocket, .done) == 1)
        client.end()
        await a.stop()
        await b.stop()
    }

    @Test func `a node that is not the owner refuses the pipe, and the store says who is`() async throws {
        let (store, a, b) = try await TestNode.nodes()
        let c = try await TestNode("c", store)
        store.own("moved", by: "c")
        a.directory.believed.withLock { $0["moved"] = RoomOwner(node: b.directory.here, epoch: 0, isHere: false) }
        let client = try await socket(a)
        await client.send(join("moved"))
        #expect(await eventually { client.types() == ["joined"] })
        #expect(c.conference.state.withLock { $0.requests.count } == 1 && b.conference.asked.isEmpty)
        #expect(a.front.metrics.value(.webSocket, .misdirected) == 1)
        client.end()
        await a.stop()
        await b.stop()
        await c.stop()
    }

    @Test func `the owner's end is the client's, at once`() async throws {
        let (store, a, b) = try await TestNode.nodes()
        store.own("far", by: "b")
        let told = try await socket(a)
        await told.send(join("far"))
        #expect(await eventually { told.types() == ["joined"] })
        a.front.pipes.nodeIsGone(NodeRecord(id: "b", incarnation: "another", url: ""))
        #expect(a.front.pipes.count == 1, "only of that incarnation")
        a.front.pipes.nodeIsGone(b.directory.here)
        #expect(await eventually { told.closeCode == 1012 })
        #expect(await eventually { told.isEnded && a.front.pipes.count == 0 })
        // The process ends.
        let other = try await socket(a)
        await other.send(join("far"))
        #expect(await eventually { other.types() == ["joined"] })
        await b.stop()
        #expect(await eventually { other.isEnded })
        // The next join finds the port closed, and the room comes here.
        let third = try await socket(a)
        await third.send(join("far"))
        #expect(await eventually { third.types() == ["joined"] })
        #expect(store.gone == ["far"] && a.conference.state.withLock { $0.requests.count } == 1)
        third.end()
        await a.stop()
    }

    @Test func `the owner's close code is the client's`() async throws {
        let (store, a, b) = try await TestNode.nodes()
        store.own("far", by: "b")
        let client = try await socket(a)
        await client.send(join("far"))
        #expect(await eventually { client.types() == ["joined"] })
        b.conference.state.withLock { $0.events.last }?(SharedEvent(.left(.removed)))
        #expect(await eventually { client.types().last == "left" && client.closeCode != nil })
        #expect(client.closeCode != 1012)
        await a.stop()
        await b.stop()
    }

    @Test func `a new room goes to another node than one that understands nothing`() async throws {
        let (store, a, b) = try await TestNode.nodes()
        let strange = try await StrangeNode("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        b.directory.listens(at: strange.url)
        store.change { $0.next = "b" }
        let client = try await socket(a)
        await client.send(join("new"))
        #expect(await eventually { client.types() == ["joined"] }, "\(client.received)")
        #expect(store.placed == ["new", "new again"])
        client.end()
        await strange.stop()
        await a.stop()
        await b.stop()
    }

    @Test(arguments: [nil, "rubbish\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"])
    func `many clients of an owner that never answers are refused in a bounded time`(words: String?) async throws {
        let (store, a, b) = try await TestNode.nodes(timing: TestNode.quick)
        store.own("far", by: "b")
        let strange = try await StrangeNode(words)
        b.directory.listens(at: strange.url)
        let start = ContinuousClock.now
        var clients: [TestSocket] = []
        for _ in 0..<50 { clients.append(try await socket(a)) }
        for client in clients { await client.send(join("far")) }
        for client in clients { #expect(await eventually { client.types() == ["error"] }) }
        #expect(ContinuousClock.now - start < .seconds(45), "a minute without the bound")
        #expect(clients[0].received.first?.contains("overloaded") == true)
        #expect(await eventually { a.front.pipes.count == 0 })
        // The connection lives, and another room can be joined over it.
        store.own("near", by: "a")
        await clients[0].send(join("near"))
        #expect(await eventually { clients[0].types() == ["error", "joined"] })
        for client in clients { client.end() }
        await strange.stop()
        await a.stop()
        await b.stop()
    }

    @Test func `a client that does not read stops the owner's messages, not the node`() async throws {
        let (store, a, b) = try await TestNode.nodes()
        store.own("far", by: "b")
        let client = try await socket(a)
        await client.send(join("far"))
        #expect(await eventually { client.types() == ["joined"] })
        client.pause(true)
        // More than the buffers of both hops hold, each state replaced by the next one at the owner.
        let long = String(repeating: "x", count: 8000)
        for index in 0..<5000 {
            b.conference.state.withLock { $0.events.last }?(SharedEvent(.layout(ShownLayout(name: long + "\(index)"))))
            if index % 100 == 0 { await Task.yield() }
        }
        client.pause(false)
        #expect(await eventually { client.received.last?.contains("x4999") == true })
        #expect(!client.isEnded && client.received.count < 5000)
        client.end()
        await a.stop()
        await b.stop()
    }

    @Test func `rooms of the other families are found by path and by first message`() async throws {
        let (store, a, b) = try await TestNode.nodes()
        store.own("far", by: "b")
        let demo = try await socket(a, "/far?name=Bob")
        #expect(a.front.pipes.count == 0, "nothing is opened before the first message")
        await demo.send(#"{"type":"SessionDescription","payload":{"sdp":"v=0\r\n","type":"offer"}}"#)
        #expect(await eventually { b.conference.asked.contains("join far Bob participant") }, "\(b.conference.asked)")
        let web = try await socket(a, "/ws")
        await web.send(#"{"cmd":"register","roomid":"far","clientid":"12345678"}"#)
        #expect(await eventually { web.received.count == 1 }, "there is no such client at the owner")
        #expect(a.front.metrics.value(.webSocket, .done) == 2)
        store.change { $0.next = "b" }
        let sockets = try await socket(a, "/socket.io/?EIO=3&transport=websocket")
        #expect(await eventually { b.front.singletonsHere == ["~socketIO"] })
        for client in [demo, web, sockets] { client.end() }
        await a.stop()
        await b.stop()
    }

    @Test func `a raw TCP client's frames go to its room's owner, whole`() async throws {
        let (store, a, b) = try await TestNode.nodes { $0.doors.rawTCP = Endpoint(host: "127.0.0.1", port: 0) }
        store.own("far", by: "b")
        let client = try await TestBytes(port: a.rawTCPPort.withLock { $0 })
        func frame(_ json: String) throws -> [UInt8] { try #require(RawTCPFrame.encode(Array(json.utf8))) }
        let login = try frame(#"{"type":"login_req","source":0,"detail_info":{"room":"far","name":"Anna"}}"#)
        // A heartbeat in front, and the login in pieces: all of it comes to the owner.
        await client.send(try frame(#"{"type":"heartbeat_req"}"#) + login.prefix(9))
        await client.send(Array(login.dropFirst(9)))
        #expect(await eventually { client.text.contains("login_resp") }, "\(client.text)")
        #expect(b.conference.asked.first == "join far Anna participant" && a.conference.asked.isEmpty)
        #expect(b.conference.state.withLock { $0.requests.first?.client.address } == IPAddress("127.0.0.1"))
        #expect(await eventually { client.text.contains("offer") })
        #expect(client.text.contains("heartbeat_resp") && a.front.pipes.count == 1)
        // The owner is gone: so is the connection.
        a.front.pipes.nodeIsGone(b.directory.here)
        #expect(await eventually { client.isEnded && a.front.pipes.count == 0 })
        // A room that is here, with what was held.
        store.own("near", by: "a")
        let near = try await TestBytes(port: a.rawTCPPort.withLock { $0 })
        await near.send(try frame(#"{"type":"login_req","source":0,"detail_info":{"room":"near","name":"Bob"}}"#))
        #expect(await eventually { near.text.contains("login_resp") })
        #expect(a.conference.asked.first == "join near Bob participant")
        // Invalid bytes end the connection.
        let bad = try await TestBytes(port: a.rawTCPPort.withLock { $0 })
        await bad.send(Array("GET / HTTP/1.1\r\n\r\n".utf8))
        #expect(await eventually { bad.isEnded })
        near.end()
        await a.stop()
        await b.stop()
    }
}
