/// What a node believes of the cluster and of itself.
package struct ClusterView: Hashable, Sendable {
    package enum MembershipState: String, Hashable, Sendable, Codable, CaseIterable {
        /// Before the first registration.
        case joining
        /// The lease runs.
        case sure
        /// The lease may have ended: calls go on, no room is placed, peers are asked.
        case unsure
        /// Neither the store nor any peer answers.
        case alone
        /// A sure peer has seen this node's key gone: every room ends here, and the node registers anew.
        case fenced
    }

    package struct Node: Hashable, Sendable {
        package var record: NodeRecord
        package var load: NodeLoad?
        /// The rooms that it owns by the store.
        package var rooms: Int

        package init(record: NodeRecord, load: NodeLoad? = nil, rooms: Int = 0) {
            self.record = record
            self.load = load
            self.rooms = rooms
        }
    }

    package var standing: MembershipState
    /// What is left of the lease by this node's clock, in seconds; negative: it has ended.
    package var leaseMargin: Double
    /// All registered nodes, this one included, by their ids.
    package var nodes: [Node]
    /// Whether the watch on the store is up to date.
    package var isFollowing: Bool
    /// Why the other nodes do not take this one's token; nil: they do, or there are none.
    package var distrust: String?
    /// Why the store takes no writes; nil: it takes them, or does not answer at all.
    package var storeFault: String?

    package init(
        standing: MembershipState, leaseMargin: Double = 0, nodes: [Node] = [], isFollowing: Bool = false,
        distrust: String? = nil, storeFault: String? = nil
    ) {
        self.standing = standing
        self.leaseMargin = leaseMargin
        self.nodes = nodes
        self.isFollowing = isFollowing
        self.distrust = distrust
        self.storeFault = storeFault
    }

    /// Whether a balancer may send clients: false while the node has never been registered, is alone, or was fenced and is
    /// not yet back, and while no other node takes its token. A store that is down for everybody changes nothing.
    package var isReady: Bool { (standing == .sure || standing == .unsure) && distrust == nil }
}
