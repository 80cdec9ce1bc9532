import Basics
import Testing

@testable import Cluster

@Suite struct DeathEvidenceTests {
    @Test(arguments: [
        // One node that reaches it is proof of its life, whatever the others say.
        ([PeerReach.reached], 100.0, false), ([.refused, .reached, .silent], 100, false),
        // Another node finds its port closed: the process has ended just now.
        ([.refused], 0.5, true), ([.silent, .refused], 0.5, true),
        // Nobody can tell: two of its reports must be missing.
        ([], 0.5, false), ([.silent], 3.9, false), ([], 4, true), ([.silent, .silent], 5, true),
    ])
    func `a closed port is death only where another node finds it too, or the node writes no more`(
        witnesses: [PeerReach], silence: Double, isGone: Bool
    ) {
        #expect(
            DeathEvidence.suffices(witnesses: witnesses, silence: .milliseconds(Int64(silence * 1000))) == isGone)
    }

    @Test func `a process that is not registered is gone`() {
        #expect(DeathEvidence.suffices(witnesses: [], silence: nil))
    }

    @Test func `what a node finds at an address`() {
        let node = NodeRecord(id: "b", incarnation: "1", url: "http://b")
        func alive(_ incarnation: String) -> PeerAnswer {
            .alive(AliveAnswer(node: "b", incarnation: incarnation, standing: .sure))
        }
        #expect(PeerReach(alive("1"), of: node) == .reached && PeerReach(alive("2"), of: node) == .refused)
        #expect(PeerReach(.rejected("x"), of: node) == .reached && PeerReach(.silent, of: node) == .silent)
    }

    @Test func `each write of a node ends its silence`() {
        let now = BootInstant.zero + .seconds(100)
        var copy = StoreCopy(id: "a")
        let record = NodeRecord(id: "b", incarnation: "1", url: "http://b")
        _ = copy.learn(StoreEntry(key: .node("b"), value: .node(record), revision: 2, lease: 1), at: now)
        #expect(copy.silence(of: record, at: now + .seconds(3)) == .seconds(3))
        let load = StoreEntry(key: .load("b"), value: .load(NodeLoad()), revision: 3, lease: 1)
        _ = copy.learn(load, at: now + .seconds(4))
        #expect(copy.silence(of: record, at: now + .seconds(5)) == .seconds(1))
        // A listing brings nothing new.
        _ = copy.learn(load, at: now + .seconds(6))
        #expect(copy.silence(of: record, at: now + .seconds(6)) == .seconds(2))
        var other = record
        other.incarnation = "2"
        #expect(copy.silence(of: other, at: now) == nil)
    }
}
