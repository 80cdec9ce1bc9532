/// The nodes of the cluster with what each believes of itself: what `GET /api/cluster` answers.
package struct ClusterReport: Hashable, Sendable {
    package struct Node: Hashable, Sendable {
        /// The node as the answering one knows it.
        package var node: ClusterView.Node
        /// What the node says; nil: it does not answer.
        package var answer: AliveAnswer?

        /// Why it does not take the answering node's token.
        package var fault: String?

        package init(node: ClusterView.Node, answer: AliveAnswer?, fault: String? = nil) {
            self.node = node
            self.answer = answer
            self.fault = fault
        }

        init(node: ClusterView.Node, answered: PeerAnswer) {
            self.node = node
            switch answered {
            case .alive(let alive): answer = alive
            case .rejected(let why): fault = why
            case .refused, .silent: break
            }
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

    /// Whether every node answers, is sure of its lease, writes to the store, and sees the same nodes.
    package var isAgreed: Bool {
        let incarnations = Dictionary(nodes.map { ($0.node.record.id, $0.node.record.incarnation) }) { first, _ in first
        }
        return !nodes.isEmpty
            && nodes.allSatisfy { node in
                guard let answer = node.answer else { return false }
                return answer.standing == .sure && answer.isFollowing && answer.storeFault == nil
                    && answer.incarnation == node.node.record.incarnation && answer.nodes == incarnations
            }
    }
}
