/// How a peer's connection ended for good.
package enum PeerEnd: Sendable {
    /// The peer closed it.
    case left
    /// The connection failed and was not restarted.
    case failed
    /// The peer exceeded its budget for too long.
    case overBudget
}
