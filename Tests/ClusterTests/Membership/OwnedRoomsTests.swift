import Basics
import Testing

@testable import Cluster

@Suite struct HoldingsTests {
    private let now = BootInstant.zero + .seconds(100)
    private var holdings = OwnedRooms()

    private func copy(_ owners: [(room: String, node: String, lease: Int64)]) -> StoreCopy {
        var copy = StoreCopy(id: "a")
        for id in ["a", "b"] {
            let record = NodeRecord(id: id, incarnation: "i", url: "")
            _ = copy.learn(StoreEntry(key: .node(id), value: .node(record), revision: 1, lease: 7), at: now)
        }
        for owner in owners {
            let value = StoreValue.owner(OwnerRecord(node: owner.node, incarnation: "i"))
            _ = copy.learn(StoreEntry(key: .owner(owner.room), value: value, revision: 5, lease: owner.lease), at: now)
        }
        return copy
    }

    private mutating func reconcile(_ rooms: [String], _ copy: StoreCopy, after time: Duration = .zero)
        -> [OwnedRooms.Decision]
    {
        holdings.reconcile(rooms, with: copy, incarnation: "i", lease: 7, at: now + time)
    }

    @Test mutating func `rooms are claimed, kept and lost by what the store says`() {
        let copy = copy([("mine", "a", 7), ("old", "a", 6), ("other", "b", 7)])
        #expect(
            reconcile(["mine", "old", "other", "nobody"], copy)
                == [.claim("old", revision: 5), .lose("other"), .claim("nobody", revision: 0)])
    }

    @Test mutating func `a moved room ends by itself, and a lost one is told once`() {
        let copy = copy([("moved", "b", 7), ("lost", "b", 7)])
        holdings.move("moved")
        #expect(reconcile(["moved", "lost"], copy) == [.lose("lost")])
        holdings.lose(["lost"])
        #expect(reconcile(["moved", "lost"], copy) == [])
        #expect(reconcile([], copy) == [])
        #expect(reconcile(["moved", "lost"], copy) == [.lose("moved"), .lose("lost")], "rooms of that name again")
    }

    @Test mutating func `a room that nobody comes to is given up after ten seconds`() {
        let copy = copy([("r", "a", 7), ("ended", "a", 7)])
        #expect(reconcile([], copy) == [])
        #expect(reconcile(["r"], copy, after: .seconds(9)) == [])
        #expect(reconcile([], copy, after: .seconds(11)) == [.release("ended", epoch: 5, hasEnded: false)])
        holdings.end("r")
        #expect(
            reconcile(["ended"], copy, after: .seconds(12)) == [.release("r", epoch: 5, hasEnded: true)],
            "one that has ended at once, with its state")
    }
}
