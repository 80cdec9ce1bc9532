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

    /// Nodes `a`, `b` and `c` of one store.
    private func threeNodes(_ peers: FakePeers, _ store: MemoryStore) async -> [ClusterNode] {
        let nodes = ["a", "b", "c"].map { id in
            ClusterNode(
                settings: ClusterSettings(),
                record: NodeRecord(id: id, incarnation: id + "1", url: "http://127.0.0.1:1"),
                host: FakeHost(), peers: peers, store: store,
                logger: Logger(label: "cluster") { _ in SwiftLogNoOpLogHandler() })
        }
        for node in nodes {
            peers.nodes.withLock { $0[node.here.id] = node }
            await node.start()
        }
        return nodes
    }

    @Test func `a room is taken from an owner only where another node does not reach it either`() async throws {
        let (store, peers) = (MemoryStore(), FakePeers())
        let nodes = await threeNodes(peers, store)
        #expect(await eventually { nodes.allSatisfy { $0.view.nodes.count == 3 && $0.alive.isFollowing } })
        let owner = try await nodes[2].place("r", .here)
        let seen = try #require(try await nodes[0].lookUp("r"))
        #expect(await !nodes[0].ownerIsGone(seen, of: "r"), "b reaches it")
        #expect(store.entries[.owner("r")]?.revision == owner.epoch)
        peers.refused.withLock { $0 = ["b c"] }
        #expect(await eventually { await nodes[0].ownerIsGone(seen, of: "r") })
        #expect(store.entries[.owner("r")] == nil)
        for node in nodes { await node.stop() }
    }

    @Test func `a node whose token all others refuse is not ready until one takes it`() async throws {
        let (store, peers) = (MemoryStore(), FakePeers())
        let nodes = await threeNodes(peers, store)
        #expect(await eventually { nodes.allSatisfy { $0.view.nodes.count == 3 && $0.view.isReady } })
        // For a node on its own clock, the others answer so.
        peers.strangers.withLock { $0 = ["a", "b", "c"] }
        #expect(await eventually { nodes.allSatisfy { !$0.view.isReady } })
        #expect(nodes[0].view.distrust == "cluster.secret differs" && nodes[0].view.standing == .sure)
        #expect(await nodes[0].outlook().nodes.first { $0.node.record.id == "b" }?.fault == "cluster.secret differs")
        peers.strangers.withLock { $0 = [] }
        #expect(await eventually { nodes.allSatisfy { $0.view.isReady } })
        for node in nodes { await node.stop() }
    }

    @Test func `a store that takes no writes is no store that is well`() async throws {
        let (store, peers) = (MemoryStore(), FakePeers())
        let nodes = await threeNodes(peers, store)
        #expect(await eventually { await nodes[0].outlook().isAgreed && nodes[0].view.nodes.count == 3 })
        store.refuseWrites("etcdserver: mvcc: database space exceeded")
        #expect(await eventually { await !nodes[0].outlook().isAgreed })
        #expect(await eventually { nodes[0].view.storeFault == "etcdserver: mvcc: database space exceeded" })
        #expect(nodes[0].view.isReady && nodes[0].view.standing == .sure, "calls go on")
        #expect(nodes[0].samples.contains { $0.name == "tessera_cluster_store_refuses" && $0.value == 1 })
        store.refuseWrites(nil)
        #expect(await eventually { await nodes[0].outlook().isAgreed })
        for node in nodes { await node.stop() }
    }
}
