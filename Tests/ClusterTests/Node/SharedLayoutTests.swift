import Basics
import Logging
import TestSupport
import Testing

@testable import Cluster

/// Layouts of the store, by whole nodes on a store in memory.
@Suite struct SharedLayoutTests {
    private let store = MemoryStore()
    private let json = Array(#"{"name": "mine"}"#.utf8)

    private func start(_ id: String) async -> (node: ClusterNode, host: FakeHost) {
        let host = FakeHost()
        let node = ClusterNode(
            settings: ClusterSettings(), record: NodeRecord(id: id, incarnation: "1", url: "http://127.0.0.1:1"),
            host: host, peers: FakePeers(), store: store,
            logger: Logger(label: "cluster") { _ in SwiftLogNoOpLogHandler() })
        await node.start()
        return (node, host)
    }

    @Test func `a layout reaches every node, and one that comes later before it is ready`() async throws {
        let (a, b) = (await start("a"), await start("b"))
        #expect(try await a.node.putLayout("mine", json))
        #expect(a.host.layouts == ["mine": json], "at once where it was put")
        #expect(await eventually { b.host.layouts == ["mine": json] })
        let c = await start("c")
        #expect(await eventually { c.node.view.isReady })
        #expect(c.host.layouts == ["mine": json])

        #expect(try await b.node.putLayout("mine", [123, 125]))
        #expect(await eventually { [a, c].allSatisfy { $0.host.layouts == ["mine": [123, 125]] } })
        #expect(try await c.node.deleteLayout("mine"))
        #expect(c.host.layouts.isEmpty)
        #expect(await eventually { a.host.layouts.isEmpty && b.host.layouts.isEmpty })
        #expect(try await !a.node.deleteLayout("mine"))
        for (node, _) in [a, b, c] { await node.stop() }
    }

    @Test func `without the store nothing changes, and what changed meanwhile is seen when it is back`() async throws {
        store.write(.layout("old"), .layout(json))
        store.write(.layout("same"), .layout(json))
        let (node, host) = await start("a")
        #expect(await eventually { node.view.isReady })
        #expect(host.layouts == ["old": json, "same": json])
        store.goDown()
        await #expect(throws: ClusterError.unavailable) { try await node.putLayout("mine", json) }
        await #expect(throws: ClusterError.unavailable) { try await node.deleteLayout("old") }
        #expect(host.layouts == ["old": json, "same": json])
        store.erase(.layout("old"))
        store.write(.layout("new"), .layout(json))
        store.comeUp()
        #expect(await eventually { host.layouts == ["new": json, "same": json] })
        // The values are read once, or twice where the registration and the first listing come together.
        #expect(store.read.count { $0 == "same" } <= 2 && (1...2).contains(store.read.count { $0 == "new" }))
        await node.stop()
    }

    @Test func `rubbish is refused, and there is a limit`() async throws {
        store.write(.layout("rubbish"), nil)
        store.write(.layout("mine"), .layout(json))
        let (node, host) = await start("a")
        #expect(await eventually { node.view.isReady })
        #expect(host.layouts == ["mine": json])
        // The last one that was of use stays.
        store.write(.layout("mine"), nil)
        for index in 0..<2 * LayoutCopy.most { store.write(.layout("l\(index)"), .layout([123])) }
        #expect(await eventually { host.layouts.count == LayoutCopy.most - 1 })
        #expect(host.layouts["mine"] == json)
        #expect(try await !node.putLayout("one-more", json))
        #expect(try await node.putLayout("l0", json), "one that is there can change")
        #expect(try await !node.putLayout("l0", [UInt8](repeating: 32, count: LayoutDocument.maxBytes + 1)))
        #expect(try await !node.putLayout("L0", json), "a name that no key has")
        await node.stop()
    }
}
