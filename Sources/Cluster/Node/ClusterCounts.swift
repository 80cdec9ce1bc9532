import Basics

/// The counts of a node, and its metrics.
struct ClusterCounts: Hashable, Sendable {
    /// What became of a room that had no owner.
    enum Placement: String, Hashable, Sendable, CaseIterable {
        /// Placed by this node.
        case placed
        /// Another node was faster.
        case found
        case full, unavailable
    }

    var placements: [Placement: Int] = [:]

    func samples(_ view: ClusterView, owned: Int, errors: Int) -> [MetricSample] {
        ClusterView.MembershipState.allCases.map { standing in
            MetricSample(
                "tessera_cluster_state", "1 for what the node believes of its lease.", .gauge,
                view.standing == standing ? 1 : 0, labels: ["state": standing.rawValue])
        }
            + [
                MetricSample(
                    "tessera_cluster_nodes", "Nodes that are registered, as this one sees it.", .gauge,
                    Double(view.nodes.count)),
                MetricSample(
                    "tessera_cluster_owned_rooms", "Rooms that this node owns by the store.", .gauge, Double(owned)),
                MetricSample(
                    "tessera_cluster_lease_margin_seconds",
                    "What is left of the node's lease; below 0 the node is not sure.", .gauge, view.leaseMargin),
            ]
            + Placement.allCases.map { result in
                MetricSample(
                    "tessera_cluster_placements_total", "Rooms without an owner that were asked for.", .counter,
                    Double(placements[result] ?? 0), labels: ["result": result.rawValue])
            }
            + [
                MetricSample(
                    "tessera_cluster_store_refuses", "1 while etcd refuses this node's writes.", .gauge,
                    view.storeFault == nil ? 0 : 1),
                MetricSample(
                    "tessera_cluster_trusted", "0 while no other node takes this one's token.", .gauge,
                    view.distrust == nil ? 1 : 0),
                MetricSample(
                    "tessera_cluster_store_errors_total", "Calls that a member of etcd did not answer, or refused.",
                    .counter, Double(errors)),
            ]
    }
}
