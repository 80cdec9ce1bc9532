/// What nodes ask each other beside the store.
package protocol PeerQueries: Sendable {
    /// Asks a node what it believes (`GET /cluster/alive`); nil: no valid answer within `limit`.
    func alive(_ node: NodeRecord, within limit: Duration) async -> AliveAnswer?
}
