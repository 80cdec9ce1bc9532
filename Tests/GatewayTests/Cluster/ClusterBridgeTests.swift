import Basics
import Cluster
import EndpointTestSupport
import Foundation
import Logging
import RoomMedia
import TestSupport
import Testing

@testable import Admission
@testable import ClusterGateway
@testable import Conference
@testable import Gateway
@testable import Settings
@testable import WebServer

/// The bridge between a whole conference, without peers, and a store in memory.
@Suite("The bridge of rooms and cluster")
struct ClusterBridgeTests {
    /// The directory of two nodes, as one of them sees it.
    private final class Store: ClusterDirectory {
        struct Content {
            var states: [String: [UInt8]] = [:]
            var owners: [String: String] = [:]
            var calls: [String] = []
            var isDown = false
            var isFull = false
            var hangs = false
            var isDraining = false
        }
        let content: Guarded<Content>
        let here: NodeRecord

        init(_ node: String, sharing other: Store? = nil) {
            content = other?.content ?? Guarded(Content())
            here = Self.record(node)
        }

        static func record(_ id: String) -> NodeRecord {
            NodeRecord(id: id, incarnation: "1", url: "http://\(id):8081")
        }

        var view: ClusterView { ClusterView(standing: .sure) }
        func calls(_ name: String) -> Int { content.withLock { $0.calls.count { $0 == name } } }
        private func note(_ call: String) async {
            content.withLock { $0.calls.append(call) }
            if content.withLock({ $0.hangs }) { try? await Task.sleep(for: .seconds(30)) }
        }
        private func owner(_ id: String) -> RoomOwner {
            RoomOwner(node: Self.record(id), epoch: 1, isHere: id == here.id)
        }

        func owner(of room: String) async throws(ClusterError) -> RoomOwner? { try await lookUp(room) }
        func lookUp(_ room: String) async throws(ClusterError) -> RoomOwner? {
            content.withLock { $0.owners[room] }.map { owner($0) }
        }
        func place(_ room: String, _ wish: PlacementWish) async throws(ClusterError) -> RoomOwner {
            await note("place \(room)")
            return owner(
                content.withLock { content in
                    let node = content.owners[room] ?? here.id
                    content.owners[room] = node
                    return node
                })
        }
        func place(
            _ room: String, insteadOf owner: RoomOwner, full: Set<String>
        ) async throws(ClusterError) -> RoomOwner { throw .full }
        func ownerIsGone(_ owner: RoomOwner, of room: String) async -> Bool { true }
        func release(_ room: String, leaving left: (state: [UInt8], life: Duration)?) async {
            await note("release \(room)")
            content.withLock { ($0.owners[room], $0.states[room]) = (nil, left?.state) }
        }
        func move(_ room: String) async throws(ClusterError) -> RoomOwner {
            await note("move \(room)")
            if content.withLock({ $0.isFull }) { throw .full }
            content.withLock { $0.owners[room] = "b" }
            return owner("b")
        }
        func store(_ state: [UInt8], of room: String) async {
            await note("store \(room)")
            content.withLock { $0.states[room] = state }
        }
        func stored(_ room: String) async throws(ClusterError) -> [UInt8]? {
            await note("read \(room)")
            if content.withLock({ $0.isDown }) { throw .unavailable }
            return content.withLock { $0.states[room] }
        }
        func putLayout(_ name: String, _ json: [UInt8]) async throws(ClusterError) -> Bool { true }
        func deleteLayout(_ name: String) async throws(ClusterError) -> Bool { true }
        func setDraining(_ isDraining: Bool) async { content.withLock { $0.isDraining = isDraining } }
    }

    private static let seal = RoomSeal(secret: TestNode.secret)

    private struct Node {
        var conference: Conference
        var bridge: ClusterBridge
        var store: Store

        func state(of room: String) -> RoomState? {
            store.content.withLock { $0.states[room] }.flatMap {
                try? RoomState(json: ClusterBridgeTests.seal.opened($0, of: room))
            }
        }

        func join(_ room: String, _ name: String, key: String? = nil) throws -> Participant {
            var request = AdmittedJoin(room: room, name: name)
            request.hostKey = key
            (request.roleIsProven, request.isNative) = (false, true)
            return try conference.join(request) { _ in }
        }
    }

    private func withNode(
        _ store: Store = Store("a"), rooms: Int = 200, closure: Duration = ClusterBridge.closure,
        _ body: (Node) async throws -> Void
    ) async throws {
        let scratch = ScratchDirectory()
        var settings = ConferenceConfiguration()
        settings.media.udp = [SocketAddress(.v4(0x7F00_0001), port: 0)]
        settings.media.tcp = []
        settings.recording.directory = scratch.path
        settings.layoutsDirectory = scratch.path + "-layouts"
        settings.savesWorkWhenOverloaded = false
        settings.limits.rooms = rooms
        settings.seatSecrets = ClusterTickets(secret: "the secret of all nodes, of 32 bytes")
        let conference = try Conference(settings, logger: Logger(label: "test"))
        try conference.start()
        let bridge = ClusterBridge(
            conference, seal: Self.seal, logger: Logger(label: "test"), period: .milliseconds(50), closure: closure)
        bridge.start(store)
        let result: Result<Void, any Error>
        do {
            result = .success(try await body(Node(conference: conference, bridge: bridge, store: store)))
        } catch {
            result = .failure(error)
        }
        await bridge.stop()
        await conference.drain(within: .seconds(2))
        try result.get()
    }

    @Test("a changed room is stored, again only after a change, and released with its end")
    func storing() async throws {
        try await withNode { node in
            let ann = try node.join("r", "Ann")
            #expect(await eventually { node.state(of: "r")?.seats.map(\.id) == [ann.id] })
            let stored = node.store.calls("store r")
            for text in 0..<20 { try ann.chat("\(text)") }
            #expect(await eventually { node.state(of: "r")?.chat.count == 20 })
            #expect(node.store.calls("store r") <= stored + 3, "many changes are one write")
            let quiet = node.store.calls("store r")
            node.bridge.changed("r")
            try await Task.sleep(for: .milliseconds(200))
            #expect(node.store.calls("store r") == quiet, "nothing is different")
            try node.conference.rooms.end("r")
            #expect(await eventually { node.state(of: "r") == nil && node.store.calls("release r") == 1 })
            #expect(node.bridge.rooms.isEmpty)
        }
    }

    @Test("a lost room is not released: its state is its next owner's")
    func losing() async throws {
        try await withNode { node in
            _ = try node.join("r", "Ann")
            #expect(await eventually { node.state(of: "r") != nil })
            node.bridge.lose(["r"])
            #expect(!node.conference.moves.hasRoom("r"))
            try await Task.sleep(for: .milliseconds(200))
            #expect(node.store.calls("release r") == 0 && node.state(of: "r") != nil)
        }
    }

    @Test("a room comes to another node with who was in it; the store is asked once, and not for rooms that are here")
    func restoring() async throws {
        let a = Store("a")
        try await withNode(a) { first in
            let ann = try first.join("r", "Ann")
            var lock = RoomSettingsChange()
            (lock.pin, lock.locked) = ("4711", true)
            try first.conference.rooms.update("r", lock)
            #expect(await eventually { first.state(of: "r")?.settings.pin == "4711" })
            let b = Store("b", sharing: a)
            try await withNode(b) { second in
                await withTaskGroup(of: Void.self) { group in
                    for _ in 0..<20 { group.addTask { try? await second.bridge.prepare("r") } }
                }
                try await second.bridge.prepare("r")
                #expect(b.calls("read r") == 1)
                #expect(second.conference.rooms.room("r")?.settings.locked == true)
                #expect(throws: ConferenceError.self) { try second.join("r", "Stranger") }
                let back = try second.conference.resume(id: ann.id, secret: ann.resumeSecret) { _ in }
                #expect(back.info?.name == "Ann" && back.info?.role == .moderator)
            }
        }
    }

    @Test("a room that has ended leaves its hosts to the next node, and nothing where nobody was one")
    func ended() async throws {
        let a = Store("a")
        try await withNode(a) { first in
            let ann = try first.join("r", "Ann")
            let key = try #require(ann.hostKey)
            try ann.chat("a secret")
            try ann.moderate(.end)
            try first.conference.rooms.create("s", RoomSettingsChange())
            try first.conference.rooms.end("s")
            #expect(await eventually { first.state(of: "r")?.isOver == true && a.calls("release s") == 1 })
            #expect(first.state(of: "s") == nil)
            let left = try #require(first.state(of: "r"))
            #expect(left.seats == [] && left.chat == [] && left.hosts?.keys.count == 1)
            try await withNode(Store("b", sharing: a)) { second in
                try await second.bridge.prepare("r")
                #expect(!second.conference.moves.hasRoom("r"))
                #expect(try second.join("r", "Guest").info?.role == .participant)
                #expect(try second.join("r", "Ann", key: key).info?.role == .moderator)
            }
        }
    }

    @Test(
        "rubbish in the store keeps its room closed for a while, since it may have had a lock; then the room begins anew",
        arguments: [
            "", "rubbish", "[[[[", #"{"version":0,"room":"r","meeting":"m","savedAt":1}"#,
            #"{"version":1,"room":"other","meeting":"m","savedAt":4000000000}"#,
            #"{"version":1,"room":"r","meeting":"m","savedAt":NOW,"settings":{"width":-1}}"#,
        ], [true, false])
    func rubbish(text: String, isSealed: Bool) async throws {
        try await withNode(closure: .milliseconds(500)) { node in
            let text = text.replacing("NOW", with: "\(Int(Date().timeIntervalSinceReferenceDate))")
            let bytes = Array(text.utf8)
            try node.store.content.withLock { $0.states["r"] = isSealed ? try Self.seal.sealed(bytes, of: "r") : bytes }
            await #expect(throws: ClusterError.closed) { try await node.bridge.prepare("r") }
            #expect(!node.conference.moves.hasRoom("r") && !node.conference.moves.hasRoom("other"))
            let isOpen = await eventually {
                do throws(ClusterError) {
                    try await node.bridge.prepare("r")
                    return true
                } catch { return false }
            }
            #expect(isOpen)
            _ = try node.join("r", "Ann")
            #expect(await eventually { node.state(of: "r")?.seats.count == 1 })
        }
    }

    @Test("a state that a newer version wrote sends its room to another node; an old one of an open room is over")
    func versions() async throws {
        try await withNode { node in
            func put(_ text: String) throws {
                try node.store.content.withLock { $0.states["r"] = try Self.seal.sealed(Array(text.utf8), of: "r") }
            }
            try put(#"{"version":9,"needs":9,"room":"r","meeting":"m","savedAt":1,"settings":{"locked":true}}"#)
            await #expect(throws: ClusterError.full) { try await node.bridge.prepare("r") }
            try put(#"{"version":1,"room":"r","meeting":"m","savedAt":1}"#)
            try await node.bridge.prepare("r")
            #expect(!node.conference.moves.hasRoom("r"))
            try put(#"{"version":1,"room":"r","meeting":"m","savedAt":1,"settings":{"locked":true}}"#)
            try await node.bridge.prepare("r")
            #expect(throws: ConferenceError.self) { try node.join("r", "Stranger") }
        }
    }

    @Test("what is stored of a room shows nothing of it, and is of use for this room with this secret only")
    func sealed() async throws {
        let a = Store("a")
        try await withNode(a) { first in
            _ = try first.join("r", "Ann")
            var change = RoomSettingsChange()
            change.pin = "4711"
            try first.conference.rooms.update("r", change)
            #expect(await eventually { first.state(of: "r")?.settings.pin == "4711" })
            let bytes = try #require(a.content.withLock { $0.states["r"] })
            for word in ["4711", "Ann", "seats"] { #expect(bytes.firstRange(of: Array(word.utf8)) == nil) }
            let plain = try Self.seal.opened(bytes, of: "r")
            #expect(plain.firstRange(of: Array("4711".utf8)) != nil)
            let useless = [
                plain, try RoomSeal(secret: "another secret of 32 bytes, or so").sealed(plain, of: "r"),
                try Self.seal.sealed(plain, of: "s"),
            ]
            for other in useless {
                let b = Store("b")
                b.content.withLock { $0.states["r"] = other }
                try await withNode(b) { second in
                    await #expect(throws: ClusterError.closed) { try await second.bridge.prepare("r") }
                    #expect(!second.conference.moves.hasRoom("r"))
                }
            }
        }
    }

    @Test("a room does not begin while its state cannot be read, nor on a node that takes none")
    func unreadable() async throws {
        let a = Store("a")
        try await withNode(a) { first in
            _ = try first.join("r", "Ann")
            #expect(await eventually { first.state(of: "r") != nil })
            try await withNode(Store("b", sharing: a), rooms: 1) { second in
                a.content.withLock { $0.isDown = true }
                await #expect(throws: ClusterError.unavailable) { try await second.bridge.prepare("r") }
                a.content.withLock { $0.isDown = false }
                // A room of the API gives way to nobody's.
                _ = try second.conference.rooms.create("s", RoomSettingsChange())
                _ = try second.join("s", "Bob")
                await #expect(throws: ClusterError.full) { try await second.bridge.prepare("r") }
                await #expect(throws: ClusterError.full, "also of a new one") { try await second.bridge.prepare("new") }
                try await second.bridge.prepare("s")
                #expect(second.bridge.load.isFull && second.bridge.load.rooms == 1 && second.bridge.load.seats == 1)
            }
        }
    }

    @Test("a layout of the store is one of this server's, until it is gone")
    func layouts() async throws {
        try await withNode { node in
            func description() -> String? { node.conference.layouts.all.first { $0.name == "mine" }?.description }
            func json(_ text: String) -> [UInt8] {
                Array(
                    #"{"name": "mine", "description": "\#(text)", "rules": [{"regions": [{"kind": "grid"}]}]}"#.utf8)
            }
            try await node.conference.layouts.check("mine", json: json("first"))
            #expect(description() == nil)
            node.bridge.useLayout("mine", json("first"))
            await node.bridge.settleLayouts()
            #expect(description() == "first")
            node.bridge.useLayout("mine", Array("{".utf8))
            await node.bridge.settleLayouts()
            #expect(description() == "first", "the last valid one")
            #expect(!node.bridge.usesLayout("mine"))
            let ann = try node.join("r", "Ann")
            var change = RoomSettingsChange()
            change.layout = "mine"
            try node.conference.rooms.update("r", change)
            #expect(node.bridge.usesLayout("mine"))
            #expect(node.bridge.usesLayout("grid"), "rooms.layout")
            #expect(!node.bridge.usesLayout("stage"))
            ann.leave()
            node.bridge.useLayout("mine", nil)
            await node.bridge.settleLayouts()
            #expect(description() == nil)
        }
    }

    @Test("the next meeting of a name gets nothing of the one that has just ended here")
    func nextMeeting() async throws {
        try await withNode { node in
            let ann = try node.join("r", "Ann")
            try ann.chat("a secret")
            #expect(await eventually { node.state(of: "r")?.chat.count == 1 })
            try node.conference.rooms.end("r")
            try await node.bridge.prepare("r")
            #expect(!node.conference.moves.hasRoom("r"))
            let bob = try node.join("r", "Bob")
            #expect(bob.chatHistory.isEmpty)
            #expect(await eventually { node.state(of: "r")?.seats.map(\.id) == [bob.id] })
        }
    }

    @Test("a drain moves each room with its people, and returns when they have gone")
    func draining() async throws {
        let a = Store("a")
        try await withNode(a) { first in
            let people = try (0..<3).map { try first.join("room \($0)", "Ann") }
            let drain = Task { [bridge = first.bridge] in
                var how = ClusterSettings.Drain()
                how.within = .seconds(20)
                await bridge.drain(how)
            }
            #expect(await eventually { a.content.withLock { $0.owners.values.filter { $0 == "b" }.count } == 3 })
            #expect(a.content.withLock { $0.isDraining })
            #expect(first.conference.moves.roomNames.count == 3, "the calls go on")
            try await withNode(Store("b", sharing: a)) { second in
                for person in people {
                    try await second.bridge.prepare(person.room)
                    let back = try second.conference.resume(id: person.id, secret: person.resumeSecret) { _ in }
                    #expect(back.info?.role == .moderator)
                    person.leave()
                }
                await drain.value
                #expect(first.conference.moves.roomNames.isEmpty && second.conference.moves.roomNames.count == 3)
                // Neither the end there nor the news of it touches what the next owner has stored.
                try await Task.sleep(for: .milliseconds(200))
                #expect(!a.content.withLock { $0.calls.contains { $0.hasPrefix("release") } })
                #expect(a.content.withLock { $0.states.count } == 3)
            }
        }
    }

    @Test("a room for which no node has place stays as it is, and goes once there is some")
    func noPlace() async throws {
        try await withNode { node in
            let ann = try node.join("r", "Ann")
            node.store.content.withLock { $0.isFull = true }
            var how = ClusterSettings.Drain()
            how.within = .milliseconds(400)
            await node.bridge.drain(how)
            #expect(node.store.calls("move r") == 1 && node.conference.moves.hasRoom("r"))
            try ann.chat("still here")
            #expect(await eventually { node.state(of: "r")?.chat.count == 1 })
            #expect(try node.join("r", "Bob").info != nil)
            node.store.content.withLock { $0.isFull = false }
            how.within = .seconds(3)
            await node.bridge.drain(how)
            #expect(await eventually { !node.conference.moves.hasRoom("r") }, "at the limit of its move")
        }
    }

    @Test("a drain that waits moves nothing; one whose store hangs, or that is called back, ends in time")
    func waiting() async throws {
        try await withNode { node in
            _ = try node.join("r", "Ann")
            var how = ClusterSettings.Drain()
            (how.mode, how.within) = (.wait, .milliseconds(300))
            await node.bridge.drain(how)
            #expect(node.store.calls("move r") == 0 && node.conference.moves.hasRoom("r"))

            node.store.content.withLock { $0.hangs = true }
            let clock = ContinuousClock()
            let start = clock.now
            (how.mode, how.within) = (.move, .milliseconds(300))
            await node.bridge.drain(how)
            how.within = .seconds(60)
            let drain = Task { [how] in await node.bridge.drain(how) }
            drain.cancel()
            await drain.value
            #expect(clock.now - start < .seconds(20))
            node.store.content.withLock { $0.hangs = false }
        }
    }
}
