import Basics
import TestSupport
import Testing

@testable import Cluster

@Suite struct PlacementTests {
    private let now = BootInstant.zero + .seconds(100)

    /// A copy of the node `a` with some nodes; `change` says what is different.
    private func copy(
        _ ids: [String], zones: [String: String] = [:], loads: [String: NodeLoad] = [:], draining: Set<String> = []
    ) -> StoreCopy {
        var copy = StoreCopy(id: "a")
        for (index, id) in ids.enumerated() {
            let record = NodeRecord(
                id: id, incarnation: "i", url: "http://\(id)", zone: zones[id] ?? "", isDraining: draining.contains(id))
            let entry = StoreEntry(key: .node(id), value: .node(record), revision: Int64(index + 1), lease: 1)
            _ = copy.learn(entry, at: now)
            if let load = loads[id] {
                _ = copy.learn(StoreEntry(key: .load(id), value: .load(load), revision: 50, lease: 1), at: now)
            }
        }
        return copy
    }

    private func owner(_ room: String, _ node: String, _ revision: Int64, incarnation: String = "i") -> StoreEntry {
        StoreEntry(
            key: .owner(room), value: .owner(OwnerRecord(node: node, incarnation: incarnation)), revision: revision,
            lease: 1)
    }

    /// ConcurrencyLimit rooms one after another, as a store without rivals does it.
    private func spread(_ count: Int, over copy: StoreCopy, seed: UInt64) -> [String: Int] {
        var (copy, random, rooms): (StoreCopy, SeededRandom, [String: Int]) = (copy, SeededRandom(seed: seed), [:])
        for index in 0..<count {
            guard let node = Placement.choose(copy, .best, &random) else { continue }
            rooms[node.record.id, default: 0] += 1
            _ = copy.learn(owner("r\(index)", node.record.id, 1000 + Int64(index)), at: now)
        }
        return rooms
    }

    @Test(arguments: seeds(0..<20))
    func `a hundred rooms at once go to all nodes alike although no load is new`(seed: UInt64) {
        let rooms = spread(100, over: copy(["a", "b", "c"]), seed: seed)
        #expect(rooms.values.allSatisfy { $0 < 50 }, "\(rooms)")
    }

    @Test func `a busy node gets fewer rooms`() {
        let loads = ["a": NodeLoad(used: 0.9), "b": NodeLoad(used: 0.1), "c": NodeLoad(used: 0.1)]
        let rooms = spread(20, over: copy(["a", "b", "c"], loads: loads), seed: 1)
        #expect(rooms["a"] == nil, "\(rooms)")
    }

    @Test func `a room moves to nodes only that can read what is stored of it`() {
        var random = SeededRandom(seed: 1)
        for (id, reads, expected) in [("b", 1, ClusterError.full), ("b", 2, nil), ("b", 3, nil)] {
            var copy = copy([])
            for (node, version) in [("a", 2), (id, reads)] {
                let record = NodeRecord(
                    id: node, incarnation: "i", url: "http://\(node)", protocol: version, needs: node == "a" ? 2 : 1)
                let entry = StoreEntry(
                    key: .node(node), value: .node(record), revision: node == "a" ? 1 : 2, lease: 1)
                _ = copy.learn(entry, at: now)
            }
            _ = copy.learn(owner("r", "a", 5), at: now)
            var move = Placement(moving: "r", from: ["a"], epoch: 5)
            let step = move.next(&copy, isSure: true, at: now, &random)
            if let expected {
                #expect(step == .failed(expected))
            } else if case .commit = step {
            } else {
                Issue.record("\(step)")
            }
            // Its owner is gone: who places it anew knows what it needs.
            _ = copy.apply(
                StoreChanges(
                    changes: [.delete(.owner("r"), revision: 8), .delete(.node("a"), revision: 8)], revision: 8),
                at: now)
            var anew = Placement("r", .best)
            anew.answered(nil, copy, at: now)
            let next = anew.next(&copy, isSure: true, at: now, &random)
            if let expected {
                #expect(next == .failed(expected))
            } else if case .commit = next {
            } else {
                Issue.record("\(next)")
            }
        }
    }

    @Test func `full and draining nodes get none, and the own zone comes first`() {
        var random = SeededRandom(seed: 1)
        let full = copy(["a", "b", "c"], loads: ["b": NodeLoad(isFull: true)], draining: ["c"])
        #expect(spread(10, over: full, seed: 2) == ["a": 10])
        let nobody = copy(["b", "c"], loads: ["b": NodeLoad(isFull: true)], draining: ["c"])
        #expect(Placement.choose(nobody, .best, &random) == nil)
        #expect(Placement.choose(full, .here, &random)?.record.id == "a")
        #expect(Placement.choose(copy(["a"], draining: ["a"]), .here, &random) == nil)
        let zones = ["a": "east", "b": "west", "c": "east"]
        let near = spread(10, over: copy(["a", "b", "c"], zones: zones), seed: 3)
        #expect(near["b"] == nil && near.count == 2)
        let far = copy(["a", "b"], zones: zones, draining: ["a"])
        #expect(Placement.choose(far, .best, &random)?.record.id == "b")
    }

    @Test func `a race is won by one, and the other finds the winner`() {
        var (copy, random) = (copy(["a", "b"]), SeededRandom(seed: 1))
        var placement = Placement("r", .best)
        guard case .commit(let transaction) = placement.next(&copy, isSure: true, at: now, &random) else {
            Issue.record("no transaction")
            return
        }
        #expect(transaction.conditions.first == .init(key: .owner("r"), revision: 0))
        let nodes = ["a", "b"].map { id in
            let record = NodeRecord(id: id, incarnation: "i", url: "http://\(id)")
            return StoreEntry(key: .node(id), value: .node(record), revision: 2, lease: 1)
        }
        let result = TransactionResult(isDone: false, revision: 90, entries: nodes + [owner("r", "b", 89)])
        _ = placement.committed(result, transaction, &copy, at: now)
        guard case .done(let found, let record) = placement.next(&copy, isSure: true, at: now, &random) else {
            Issue.record("not found")
            return
        }
        #expect(found.revision == 89 && record.id == "b")
    }

    @Test func `a node that is not sure places nothing, and finds what it knows`() {
        var (copy, random) = (copy(["a", "b"]), SeededRandom(seed: 1))
        var placement = Placement("r", .best)
        #expect(placement.next(&copy, isSure: false, at: now, &random) == .failed(.unavailable))
        _ = copy.learn(owner("r", "b", 60), at: now)
        guard case .done = placement.next(&copy, isSure: false, at: now, &random) else {
            Issue.record("not found")
            return
        }
    }

    @Test(arguments: [
        (ClusterView.MembershipState.sure, "i", "kept"), (.unsure, "i", "later"), (.fenced, "i", "placed"),
        (.sure, "i2", "placed"), (nil, "i", "placed"),
    ])
    func `the room of a node that looks dead is taken only if that does not answer for it`(
        standing: ClusterView.MembershipState?, incarnation: String, outcome: String
    ) {
        var (copy, random) = (copy(["a", "b", "c"]), SeededRandom(seed: 1))
        _ = copy.learn(owner("r", "b", 60), at: now)
        _ = copy.apply(
            StoreChanges(
                changes: [.delete(.node("b"), revision: 61), .delete(.owner("r"), revision: 61)], revision: 61),
            at: now)
        var placement = Placement("r", .best)
        guard case .ask(let node) = placement.next(&copy, isSure: true, at: now, &random) else {
            Issue.record("nobody is asked")
            return
        }
        #expect(node.id == "b")
        let answer = standing.map { AliveAnswer(node: "b", incarnation: incarnation, standing: $0) }
        placement.answered(answer, copy, at: now + .milliseconds(300))
        let next: String
        switch placement.next(&copy, isSure: true, at: now + .milliseconds(300), &random) {
        case .done(let owner, _): next = owner.node == "b" && owner.revision == 60 ? "kept" : "?"
        case .failed(.ownerLost): next = "later"
        case .commit: next = "placed"
        default: next = "?"
        }
        #expect(next == outcome)
    }

    @Test func `an owner whose record has gone but whose lease runs is waited for`() {
        var (copy, random) = (copy(["a"]), SeededRandom(seed: 1))
        _ = copy.learn(owner("r", "b", 60), at: now)
        var placement = Placement("r", .best)
        #expect(placement.next(&copy, isSure: true, at: now, &random) == .failed(.ownerLost))
    }

    @Test func `the room of a node's earlier process is free`() {
        var (copy, random) = (copy(["a"]), SeededRandom(seed: 1))
        _ = copy.learn(owner("r", "a", 60, incarnation: "old"), at: now)
        var placement = Placement("r", .best)
        guard case .commit(let transaction) = placement.next(&copy, isSure: true, at: now, &random) else {
            Issue.record("no transaction")
            return
        }
        #expect(transaction.conditions.first == .init(key: .owner("r"), revision: 60))
    }

    @Test func `a move replaces this node's epoch and goes elsewhere`() {
        var (copy, random) = (copy(["a", "b"]), SeededRandom(seed: 1))
        _ = copy.learn(owner("r", "a", 60), at: now)
        var placement = Placement(moving: "r", from: ["a"], epoch: 60)
        guard case .commit(let transaction) = placement.next(&copy, isSure: true, at: now, &random) else {
            Issue.record("no transaction")
            return
        }
        #expect(
            transaction.conditions == [.init(key: .owner("r"), revision: 60), .init(key: .node("b"), revision: 2)])
        _ = placement.committed(TransactionResult(isDone: true, revision: 70), transaction, &copy, at: now)
        guard case .done(let owner, _) = placement.next(&copy, isSure: true, at: now, &random) else {
            Issue.record("not moved")
            return
        }
        #expect(owner.node == "b" && owner.revision == 70 && copy.owners["r"]?.node == "b")
        var full = Placement(moving: "r2", from: ["b"], epoch: 1)
        var other = self.copy(["b"])
        #expect(full.next(&other, isSure: true, at: now, &random) == .failed(.full))
    }

    @Test func `a room goes to none of the nodes that refused it`() {
        var (copy, random) = (copy(["a", "b", "c"]), SeededRandom(seed: 1))
        _ = copy.learn(owner("r", "a", 60), at: now)
        var placement = Placement(moving: "r", from: ["a", "c"], epoch: 60)
        guard case .commit(let transaction) = placement.next(&copy, isSure: true, at: now, &random),
            case .put(_, .owner(let record), _)? = transaction.operations.first
        else { return #expect(Bool(false), "no transaction") }
        #expect(record.node == "b")
        var last = Placement(moving: "r", from: ["a", "b", "c"], epoch: 60)
        #expect(last.next(&copy, isSure: true, at: now, &random) == .failed(.full))
        // Another front was faster.
        _ = copy.learn(owner("r", "c", 70), at: now)
        guard case .done(let owner, _) = last.next(&copy, isSure: true, at: now, &random) else {
            return #expect(Bool(false), "not found")
        }
        #expect(owner.node == "c")
    }

    @Test func `a suspect gets no room until it writes again`() {
        var (copy, random) = (copy(["a", "b"], draining: ["a"]), SeededRandom(seed: 1))
        #expect(Placement.choose(copy, .best, &random)?.record.id == "b")
        copy.suspect(NodeRecord(id: "b", incarnation: "i", url: ""))
        #expect(Placement.choose(copy, .best, &random) == nil)
        _ = copy.learn(StoreEntry(key: .load("b"), value: .load(NodeLoad()), revision: 99, lease: 1), at: now)
        #expect(Placement.choose(copy, .best, &random)?.record.id == "b")
    }
}
