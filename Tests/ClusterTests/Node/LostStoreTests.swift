import Basics
import Logging
import TestSupport
import Testing

@testable import Cluster

/// Whole nodes on a store that loses its data.
@Suite struct LostStoreTests {
    @Test func `nodes register again, keep their rooms, and see what is written from then on`() async throws {
        let (store, peers) = (MemoryStore(), FakePeers())
        var settings = ClusterSettings()
        settings.ttl = .seconds(2)
        let hosts = [FakeHost(), FakeHost()]
        let nodes = ["a", "b"].enumerated().map { index, id in
            ClusterNode(
                settings: settings, record: NodeRecord(id: id, incarnation: "1", url: "http://127.0.0.1:1"),
                host: hosts[index], peers: peers, store: store,
                logger: Logger(label: "cluster") { _ in SwiftLogNoOpLogHandler() })
        }
        for node in nodes {
            peers.nodes.withLock { $0[node.here.id] = node }
            await node.start()
        }
        #expect(await eventually { nodes.allSatisfy { $0.view.nodes.count == 2 && $0.view.isReady } })
        for (index, node) in nodes.enumerated() {
            hosts[index].open("room \(index)")
            #expect(try await node.place("room \(index)", .here).isHere)
        }
        #expect(try await nodes[0].putLayout("mine", [123, 125]))
        // Revisions that the next store reaches only much later.
        for index in 0..<1000 { store.write(.room("r\(index)"), .state([1])) }
        #expect(await eventually { nodes.allSatisfy { $0.alive.revision > 1000 } })
        store.goDown()
        store.loseAll()
        store.comeUp()

        #expect(
            await eventually {
                (0..<2).allSatisfy { store.entries[.owner("room \($0)")] != nil }
                    && nodes.allSatisfy { $0.alive.isFollowing && $0.view.nodes.map(\.rooms) == [1, 1] }
            })
        #expect(hosts.map(\.rooms) == [["room 0"], ["room 1"]])
        #expect(hosts.allSatisfy { $0.state.withLock { $0.lost + $0.gone } == [] })
        #expect(try await nodes[1].owner(of: "room 0")?.node.id == "a")
        let placed = try await nodes[1].place("room 2", .here)
        #expect(placed.isHere && placed.epoch < 1000)
        #expect(await eventually { hosts.allSatisfy { $0.layouts.isEmpty } }, "the store has none")
        #expect(try await nodes[1].putLayout("mine", [123]))
        #expect(await eventually { hosts[0].layouts == ["mine": [123]] })
        for node in nodes { await node.stop() }
    }
}
