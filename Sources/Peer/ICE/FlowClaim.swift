/// How well a peer has proved that a flow is its own.
public enum FlowClaim: Hashable, Sendable {
    /// Not proved: no check, or none that is authentic.
    case none
    /// An authentic check came. Its source address may be forged.
    case checked
    /// A check of ours was answered: the peer receives at this address.
    case answered
}
