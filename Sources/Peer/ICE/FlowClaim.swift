/// How well a peer has shown that a flow is its own.
public enum FlowClaim: Hashable, Sendable {
    /// Not at all: no check, or none that is authentic.
    case none
    /// By an authentic check. Its source address may be forged.
    case checked
    /// By an answer to a check of our own: the peer is really there.
    case answered
}
