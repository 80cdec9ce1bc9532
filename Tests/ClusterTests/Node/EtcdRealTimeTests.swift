import Basics
import Foundation
import Logging
import TestSupport
import Testing

@testable import Cluster

/// Against three members of the real etcd, where that is installed.
@Suite(.serialized, .enabled(if: EtcdMembers.isInstalled)) struct EtcdRealTimeTests {
    private func settings(_ members: EtcdMembers, ttl: Duration = .seconds(3)) -> ClusterSettings {
        var settings = ClusterSettings()
        (settings.etcd, settings.ttl) = (members.endpoints, ttl)
        return settings
    }

    private func record(_ id: String, incarnation: String = "1") -> NodeRecord {
        NodeRecord(id: id, incarnation: incarnation, url: "http://127.0.0.1:1")
    }

    private func answers(_ store: some ClusterStore) async -> Bool {
        (try? await store.list(.rooms, hasValues: true)) != nil
    }

    @Test func `leases, races, the watch, the death of the leader and of all`() async throws {
        let members = try EtcdMembers()
        for index in 0..<3 { try members.start(index) }
        let store = try EtcdGateway(settings(members))
        #expect(await eventually(.seconds(5)) { await answers(store) })

        // Eight racers for one room: one wins, and all learn who.
        let lease = try await store.grant(.seconds(60))
        let node = record("a")
        let registered = try await store.commit(.register(node, lease: lease.id, replacing: 0))
        #expect(registered.isDone)
        #expect(try await !store.commit(.register(node, lease: lease.id, replacing: 0)).isDone)
        let entry = StoreCopy.Node(record: node, lease: lease.id, revision: registered.revision)
        let winners = try await withThrowingTaskGroup(of: TransactionResult.self) { group in
            for _ in 0..<8 { group.addTask { try await store.commit(.place("r ä/1", on: entry, replacing: 0)) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(winners.count(where: \.isDone) == 1)
        let revisions = Set(winners.map { $0.isDone ? $0.revision : $0.entry(.owner("r ä/1"))?.revision ?? 0 })
        #expect(revisions.count == 1)

        // What a watch shows, from an old revision on.
        let changes = Guarded<[StoreChanges.Change]>([])
        let watch = Task {
            try await store.watch(.followed, from: registered.revision) { seen in
                changes.withLock { $0 += seen.changes }
            }
        }
        let listing = try await store.list(.followed, hasValues: true)
        #expect(Set(listing.entries.map(\.key)) == [.node("a"), .owner("r ä/1")])
        _ = try await store.put(.room("r"), .state([1, 2, 3]))
        #expect(try await store.read(.room("r"))?.value == .state([1, 2, 3]))

        // A lease that is not renewed takes its keys along. The shortest that etcd grants is two seconds.
        let short = try await store.grant(.seconds(1))
        _ = try await store.put(.load("a"), .load(NodeLoad(rooms: 7)), lease: short.id)
        #expect(try await store.renew(short.id, within: .seconds(1)) != nil)
        #expect(
            await eventually(.seconds(6)) {
                changes.withLock {
                    $0.contains { if case .delete(.load("a"), revision: _) = $0 { true } else { false } }
                }
            })
        #expect(try await store.renew(short.id, within: .seconds(1)) == nil)
        #expect(try await store.renew(12345, within: .seconds(1)) == nil)
        try await store.revoke(short.id)
        await #expect(throws: StoreError.leaseGone) {
            try await store.put(.load("a"), .load(NodeLoad()), lease: short.id)
        }
        let puts = changes.withLock { $0.filter { if case .put = $0 { true } else { false } } }
        #expect(puts.count == 3, "a node, an owner, a load; the rooms' states are not followed")

        // A watch from a revision that is compacted says so.
        watch.cancel()
        _ = await watch.result

        // The first member that is asked dies, and then all do; what is stored stays.
        members.kill(0)
        #expect(await eventually(.seconds(4)) { await answers(store) })
        members.kill(1)
        members.kill(2)
        await #expect(throws: StoreError.self) { try await store.read(.room("r")) }
        #expect(store.errors > 0)
        for index in 0..<3 { try members.start(index) }
        #expect(await eventually(.seconds(6)) { await answers(store) })
        #expect(try await store.read(.owner("r ä/1"))?.lease == lease.id)
        #expect(try await store.renew(lease.id, within: .seconds(1)) != nil)
        await store.close()
    }

    @Test func `nodes place, find, move and lose rooms`() async throws {
        let members = try EtcdMembers()
        for index in 0..<3 { try members.start(index) }
        let (peers, hosts) = (FakePeers(), [FakeHost(), FakeHost()])
        let nodes = try ["a", "b"].enumerated().map { index, id in
            try ClusterNode(
                settings: settings(members), record: record(id), host: hosts[index], peers: peers,
                logger: Logger(label: "cluster"))
        }
        for node in nodes {
            peers.nodes.withLock { $0[node.here.id] = node }
            await node.start()
        }
        #expect(
            await eventually(.seconds(5)) { nodes.allSatisfy { $0.view.standing == .sure && $0.view.nodes.count == 2 } }
        )

        let here = try await nodes[0].place("one", .here)
        #expect(here.isHere && here.node.id == "a")
        hosts[0].open("one")
        let seen = try await nodes[1].place("one", .here)
        #expect(!seen.isHere && seen.epoch == here.epoch)
        #expect(try await nodes[1].owner(of: "none") == nil)

        // Twenty rooms at once, asked for at both: each has one owner, and both nodes have some.
        let owners = try await withThrowingTaskGroup(of: (String, RoomOwner).self) { group in
            for index in 0..<40 {
                group.addTask { ("r\(index / 2)", try await nodes[index % 2].place("r\(index / 2)", .best)) }
            }
            return try await group.reduce(into: [String: Set<String>]()) {
                $0[$1.0, default: []].insert("\($1.1.node.id) \($1.1.epoch)")
            }
        }
        #expect(owners.count == 20 && owners.values.allSatisfy { $0.count == 1 })
        for (room, owner) in owners { hosts[owner.first?.hasPrefix("a") == true ? 0 : 1].open(room) }
        #expect(hosts.allSatisfy { $0.rooms.count >= 8 }, "\(hosts.map(\.rooms))")

        // The state of a room goes to its next owner, and with it.
        await nodes[0].store([7], of: "one")
        #expect(try await nodes[1].stored("one") == [7])
        await nodes[1].store([8], of: "one")
        #expect(try await nodes[1].stored("one") == [7], "only the owner writes")
        let moved = try await nodes[0].move("one")
        #expect(moved.node.id == "b" && moved.epoch > here.epoch)
        hosts[1].open("one")
        #expect(try await nodes[0].lookUp("one")?.node.id == "b")

        // A draining node gets no room.
        await nodes[0].setDraining(true)
        #expect(await eventually(.seconds(1)) { nodes[1].view.nodes.first?.record.isDraining == true })
        for index in 0..<5 {
            #expect(try await nodes[1].place("d\(index)", .best).node.id == "b")
            hosts[1].open("d\(index)")
        }
        await #expect(throws: ClusterError.full) { try await nodes[0].place("e", .here) }

        // The record of a living node is deleted, by mistake: no room is lost.
        let store = try EtcdGateway(settings(members))
        let before = hosts[1].rooms
        try await store.delete(.node("b"))
        #expect(await eventually { (try? await store.read(.node("b"))) != nil }, "it registers again")
        #expect(
            await eventually {
                let copy = nodes[0].view.nodes.first { $0.record.id == "b" }
                return copy?.rooms == before.count && nodes[1].view.standing == .sure
            })
        #expect(hosts[1].rooms == before && hosts[1].state.withLock { $0.lost } == [])
        #expect(hosts[0].state.withLock { $0.gone } == [])
        #expect(await eventually { await nodes[0].outlook().isAgreed })

        // A room that has ended is free, with its state; a node that stops gives all back.
        hosts[1].close("one")
        await nodes[1].release("one")
        #expect(try await store.read(.owner("one")) == nil)
        #expect(try await store.read(.room("one")) == nil)
        await nodes[1].stop()
        peers.nodes.withLock { $0["b"] = nil }
        #expect(await eventually(.seconds(2)) { hosts[0].state.withLock { $0.gone } == ["b"] })
        #expect(try await store.list(.followed, hasValues: true).entries.allSatisfy { $0.key != .node("b") })
        await nodes[0].stop()
        // Where the last call got no answer in time, the lease ends by itself.
        var rest = try await store.list(.followed, hasValues: true).entries
        for _ in 0..<100 where rest != [] {
            try await Task.sleep(for: .milliseconds(100))
            rest = try await store.list(.followed, hasValues: true).entries
        }
        #expect(rest == [])
        await store.close()
    }
}
