/// What a node answers to `GET /cluster/alive`: what it believes of itself, and which nodes it sees. JSON.
package struct AliveAnswer: Hashable, Sendable, Codable {
    package var node: String
    package var incarnation: String
    package var standing: ClusterView.MembershipState
    /// What is left of its lease, in seconds.
    package var leaseMargin: Double
    /// How long it has been sure without a break, in seconds; nil: a node of an earlier version, which does not tell.
    package var sureFor: Double?
    /// Why the store takes no writes, such as a quota that is reached; nil: it takes them.
    package var storeFault: String?
    /// Whether its copy of the store's keys is up to date.
    package var isFollowing: Bool
    /// The highest revision of the store up to which it has seen the keys, also of a store that has lost them since.
    package var revision: Int64
    /// The incarnations of the nodes that it sees registered, by their ids.
    package var nodes: [String: String]
    /// The rooms that are there.
    package var rooms: Int

    package init(
        node: String, incarnation: String, standing: ClusterView.MembershipState, leaseMargin: Double = 0,
        sureFor: Double? = nil, storeFault: String? = nil, isFollowing: Bool = false, revision: Int64 = 0,
        nodes: [String: String] = [:], rooms: Int = 0
    ) {
        self.node = node
        self.incarnation = incarnation
        self.standing = standing
        self.leaseMargin = leaseMargin
        self.sureFor = sureFor
        self.storeFault = storeFault
        self.isFollowing = isFollowing
        self.revision = revision
        self.nodes = nodes
        self.rooms = rooms
    }
}

/// What came of a question to a node.
package enum PeerAnswer: Hashable, Sendable {
    case alive(AliveAnswer)
    /// Nothing listens at its internal port.
    case refused
    /// It does not take this node's token, or TLS fails: why, for the operator.
    case rejected(String)
    case silent
}

/// Whether one node reaches another.
package enum PeerReach: String, Hashable, Sendable, Codable {
    case reached, refused, silent

    package init(_ answer: PeerAnswer, of node: NodeRecord) {
        switch answer {
        // Another process at the same address is not the node.
        case .alive(let alive): self = alive.incarnation == node.incarnation ? .reached : .refused
        // Something lives there that speaks our language.
        case .rejected: self = .reached
        case .refused: self = .refused
        case .silent: self = .silent
        }
    }
}
