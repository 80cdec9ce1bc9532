import Testing

@testable import Cluster

@Suite struct PeerTrustTests {
    private typealias Answer = PeerTrust.Answer
    private static let alive = PeerAnswer.alive(AliveAnswer(node: "b", incarnation: "1", standing: .sure))
    private static let rejected = PeerAnswer.rejected("cluster.secret differs")

    @Test func `a node that every other one refuses is at fault, and says why, until one believes it`() {
        var trust = PeerTrust()
        trust.take([])
        #expect(trust.fault == nil)
        trust.take([
            Answer(answer: Self.rejected, isOlder: false), Answer(answer: Self.rejected, isOlder: false),
        ])
        #expect(trust.fault == "cluster.secret differs")
        trust.take([Answer(answer: .silent, isOlder: true)])
        #expect(trust.fault != nil, "silence proves nothing")
        trust.take([Answer(answer: Self.rejected, isOlder: true), Answer(answer: Self.alive, isOlder: false)])
        #expect(trust.fault == nil)
    }

    @Test func `one wrong node of three takes none of the others with it`() {
        var trust = PeerTrust()
        trust.take([Answer(answer: Self.rejected, isOlder: true), Answer(answer: Self.alive, isOlder: true)])
        #expect(trust.fault == nil)
    }

    @Test(arguments: [(true, true), (false, false)])
    func `of two nodes the younger one is at fault`(isOlder: Bool, isAtFault: Bool) {
        var trust = PeerTrust()
        trust.take([Answer(answer: Self.rejected, isOlder: isOlder)])
        #expect((trust.fault != nil) == isAtFault)
    }

    @Test func `a node that nobody believes is not ready, however sure of its lease`() {
        #expect(ClusterView(standing: .sure).isReady)
        #expect(!ClusterView(standing: .sure, distrust: "cluster.secret differs").isReady)
    }
}
