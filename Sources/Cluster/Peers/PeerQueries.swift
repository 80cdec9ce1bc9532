/// What nodes ask each other beside the store.
package protocol PeerQueries: Sendable {
    /// Asks a node what it believes (`GET /cluster/alive`).
    func ask(_ node: NodeRecord, within limit: Duration) async -> PeerAnswer
    /// Asks a node whether it reaches another one (`GET /cluster/reaches`); nil: no valid answer within `limit`.
    func witness(_ node: NodeRecord, of other: NodeRecord, within limit: Duration) async -> PeerReach?
}

extension PeerQueries {
    /// What a node believes; nil: no valid answer within `limit`.
    package func alive(_ node: NodeRecord, within limit: Duration) async -> AliveAnswer? {
        if case .alive(let answer) = await ask(node, within: limit) { answer } else { nil }
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
