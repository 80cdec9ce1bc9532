import Cluster
import Testing

@Suite struct ClusterOutlookTests {
    private func outlook(_ change: (inout AliveAnswer) -> Void) -> ClusterReport {
        let nodes = ["a", "b"].map { ClusterView.Node(record: NodeRecord(id: $0, incarnation: "1", url: "")) }
        return ClusterReport(
            here: "a",
            nodes: nodes.map { node in
                var answer = AliveAnswer(
                    node: node.record.id, incarnation: "1", standing: .sure, isFollowing: true,
                    nodes: ["a": "1", "b": "1"])
                if node.record.id == "b" { change(&answer) }
                return .init(node: node, answer: answer)
            })
    }

    @Test func `all agree only if each answers, is sure and sees the same nodes`() {
        #expect(outlook { _ in }.isAgreed)
        #expect(!outlook { $0.standing = .unsure }.isAgreed)
        #expect(!outlook { $0.isFollowing = false }.isAgreed)
        #expect(!outlook { $0.storeFault = "mvcc: database space exceeded" }.isAgreed)
        #expect(!outlook { $0.incarnation = "2" }.isAgreed)
        #expect(!outlook { $0.nodes["c"] = "1" }.isAgreed)
        #expect(!outlook { $0.nodes["a"] = "0" }.isAgreed)
        var silent = outlook { _ in }
        silent.nodes[1].answer = nil
        #expect(!silent.isAgreed)
        #expect(!ClusterReport(here: "a", nodes: []).isAgreed)
    }
}
