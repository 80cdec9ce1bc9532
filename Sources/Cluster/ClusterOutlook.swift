/// The nodes of the cluster with what each believes of itself: what `GET /api/cluster` answers.
package struct ClusterOutlook: Hashable, Sendable {
    package struct Node: Hashable, Sendable {
        /// The node as the answering one knows it.
        package var node: ClusterView.Node
        /// What the node says; nil: it does not answer.
        package var answer: AliveAnswer?

        package init(node: ClusterView.Node, answer: AliveAnswer?) {
            self.node = node
            self.answer = answer
        }
    }

    /// The node that answers.
    package var here: String
    /// By their ids.
    package var nodes: [Node]

    package init(here: String, nodes: [Node]) {
        self.here = here
        self.nodes = nodes
    }

    /// Whether every node answers, is sure of its lease, and sees the same nodes.
    package var isAgreed: Bool {
        let incarnations = Dictionary(nodes.map { ($0.node.record.id, $0.node.record.incarnation) }) { first, _ in first
        }
        return !nodes.isEmpty
            && nodes.allSatisfy { node in
                guard let answer = node.answer else { return false }
                return answer.standing == .sure && answer.isFollowing
                    && answer.incarnation == node.node.record.incarnation && answer.nodes == incarnations
            }
    }
}
