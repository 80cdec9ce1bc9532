import Basics
import Testing

@testable import Cluster

@Suite struct StoreCopyTests {
    private var copy = StoreCopy(id: "a")
    private let now = BootInstant.zero + .seconds(100)

    private func node(_ id: String, _ revision: Int64, incarnation: String = "i") -> StoreEntry {
        let record = NodeRecord(id: id, incarnation: incarnation, url: "http://\(id)")
        return StoreEntry(key: .node(id), value: .node(record), revision: revision, lease: 1)
    }

    private func owner(_ room: String, _ node: String, _ revision: Int64) -> StoreEntry {
        let record = OwnerRecord(node: node, incarnation: "i")
        return StoreEntry(key: .owner(room), value: .owner(record), revision: revision, lease: 1)
    }

    private func load(_ id: String, _ revision: Int64) -> StoreEntry {
        StoreEntry(key: .load(id), value: .load(NodeLoad(used: 0.5)), revision: revision, lease: 1)
    }

    private mutating func apply(_ changes: [StoreChanges.Change], _ revision: Int64) -> [StoreCopy.Notice] {
        copy.apply(StoreChanges(changes: changes, revision: revision), at: now)
    }

    @Test mutating func `nodes, rooms and what was placed since the report before the last one`() {
        _ = apply([.put(node("b", 1)), .put(owner("r", "b", 2)), .put(load("b", 3))], 3)
        #expect(copy.nodes["b"]?.rooms == 1 && copy.nodes["b"]?.recent == [2])
        _ = apply([.put(owner("s", "b", 4)), .put(load("b", 5))], 5)
        #expect(copy.nodes["b"]?.recent == [4])
        _ = apply([.put(load("b", 6))], 6)
        #expect(copy.nodes["b"]?.recent == [] && copy.nodes["b"]?.rooms == 2)
        _ = apply([.delete(.owner("r"), revision: 7)], 7)
        #expect(copy.nodes["b"]?.rooms == 1 && copy.revision == 7)
    }

    @Test mutating func `the end of a lease takes node and rooms, and leaves the former owner`() {
        _ = apply([.put(node("b", 1)), .put(owner("r", "b", 2))], 2)
        let notices = apply([.delete(.node("b"), revision: 3), .delete(.owner("r"), revision: 3)], 3)
        #expect(notices.count == 1)
        #expect(copy.owner(of: "r") == nil && copy.nodes.isEmpty && copy.owners.isEmpty)
        #expect(copy.former(of: "r", at: now)?.epoch == 2)
        #expect(copy.former(of: "r", at: now + .seconds(61)) == nil)
        _ = apply([.put(node("b", 4))], 4)
        #expect(copy.former(of: "r", at: now) == nil, "it is back")
    }

    @Test mutating func `a room that its living owner released has no former owner to ask`() {
        _ = apply([.put(node("b", 1)), .put(owner("r", "b", 2)), .delete(.owner("r"), revision: 3)], 3)
        #expect(copy.former(of: "r", at: now) == nil)
    }

    @Test mutating func `old news change nothing`() {
        _ = apply([.put(node("b", 1)), .put(owner("r", "b", 5))], 5)
        _ = apply([.put(owner("r", "c", 4)), .delete(.owner("r"), revision: 4), .delete(.node("b"), revision: 0)], 5)
        #expect(copy.owner(of: "r")?.owner.revision == 5)
        // What this node deleted is not brought back by the watch that comes after.
        _ = copy.forget(.owner("r"), at: 8, now)
        _ = apply([.put(owner("r", "b", 7))], 7)
        #expect(copy.owners["r"] == nil)
        _ = apply([.put(owner("r", "b", 9))], 9)
        #expect(copy.owners["r"] != nil)
    }

    @Test mutating func `a listing replaces all`() {
        _ = apply([.put(node("a", 1)), .put(node("b", 2)), .put(owner("r", "b", 3)), .put(owner("s", "b", 4))], 4)
        let notices = copy.replace(
            StoreListing(entries: [owner("s", "c", 6), node("c", 5)], revision: 9), at: now)
        #expect(copy.nodes.keys.sorted() == ["c"] && copy.owners.keys.sorted() == ["s"])
        #expect(copy.nodes["c"]?.rooms == 1 && copy.revision == 9)
        #expect(notices.contains(.ownKeyGone(revision: 9)))
        #expect(notices.filter { if case .nodeGone = $0 { true } else { false } }.count == 1)
    }

    @Test mutating func `a store that lost its data is copied anew, and the owners of rooms are asked first`() {
        _ = apply([.put(node("b", 1)), .put(node("c", 2)), .put(owner("r", "b", 3)), .put(owner("s", "b", 90))], 100)
        // Every revision is lower than one that is known.
        let notices = copy.replace(
            StoreListing(entries: [node("b", 2), owner("s", "c", 3)], revision: 4), asked: copy.highest, at: now)
        #expect(copy.losses == 1 && copy.revision == 4 && copy.highest == 4 && copy.seen == 100)
        #expect(copy.nodes["b"]?.revision == 2 && copy.owners.keys.sorted() == ["s"])
        #expect(notices.contains(.nodeGone(NodeRecord(id: "c", incarnation: "i", url: "http://c"))))
        #expect(!notices.contains(.nodeGone(NodeRecord(id: "b", incarnation: "i", url: "http://b"))))
        _ = apply([.put(owner("s", "b", 5))], 5)
        #expect(copy.owners["s"]?.revision == 5)
        // The former owner of `r` counts as one whose record is gone by mistake.
        _ = apply([.delete(.node("b"), revision: 6)], 6)
        #expect(copy.former(of: "r", at: now)?.epoch == 3)
    }

    @Test mutating func `a store of another history has keys that are older than known ones, or differ`() {
        _ = apply([.put(node("b", 1)), .put(owner("r", "b", 50))], 60)
        _ = copy.replace(StoreListing(entries: [node("b", 1), owner("r", "b", 50)], revision: 70), asked: 60, at: now)
        #expect(copy.losses == 0)
        _ = copy.replace(StoreListing(entries: [node("b", 1), owner("r", "c", 40)], revision: 80), asked: 70, at: now)
        #expect(copy.losses == 1 && copy.owners["r"]?.node == "c")
        _ = copy.replace(StoreListing(entries: [node("b", 1), owner("r", "b", 40)], revision: 90), asked: 80, at: now)
        #expect(copy.losses == 2 && copy.owners["r"]?.node == "b")
        // What was learned after the listing was asked for is no contradiction.
        _ = copy.learn(owner("r", "b", 95), at: now)
        _ = copy.replace(StoreListing(entries: [node("b", 1), owner("r", "b", 40)], revision: 92), asked: 90, at: now)
        #expect(copy.losses == 2 && copy.owners["r"]?.revision == 95)
    }

    @Test mutating func `another process with a node's id ends the one before`() {
        _ = apply([.put(node("b", 1)), .put(owner("r", "b", 2))], 2)
        let notices = apply([.put(node("b", 3, incarnation: "i2"))], 3)
        #expect(notices == [.nodeGone(NodeRecord(id: "b", incarnation: "i", url: "http://b"))])
        #expect(copy.owner(of: "r") == nil && copy.nodes["b"]?.rooms == 0)
    }
}
