/// What nodes ask each other beside the store.
package protocol NodeQueries: Sendable {
    /// Asks a node what it believes (`GET /cluster/alive`).
    func ask(_ node: NodeRecord, within limit: Duration) async -> PeerAnswer
    /// Asks a node whether it reaches another one (`GET /cluster/reaches`); nil: no valid answer within `limit`.
    func witness(_ node: NodeRecord, of other: NodeRecord, within limit: Duration) async -> PeerReach?
}

extension NodeQueries {
    /// What a node believes; nil: no valid answer within `limit`.
    package func alive(_ node: NodeRecord, within limit: Duration) async -> AliveAnswer? {
        if case .alive(let answer) = await ask(node, within: limit) { answer } else { nil }
    }
}
