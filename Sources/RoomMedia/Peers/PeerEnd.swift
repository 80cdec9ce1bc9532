/// How a peer's connection ended for good.
package enum PeerEnd: Sendable {
    /// The peer closed it.
    case left
    /// It failed, and was not restarted.
    case failed
    /// It made the server do more than one peer may, for too long.
    case overBudget
}
