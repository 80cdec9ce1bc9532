/// Why a node does not take another one's token, as its answers say it in a header.
package enum PeerRefusal: String, Hashable, Sendable, CaseIterable {
    /// Of answers that the token was refused for, so that a client does not take the 401 for its own.
    package static let header = "Tessera-Refused"
    /// The life of a token in seconds: how far two clocks may differ.
    package static let life = 30

    /// There is none, or it is signed with another secret.
    case secret
    /// It is signed well, and is of another time.
    case clock
    /// It is signed well, and is for another node.
    case node

    /// For operators.
    package var explanation: String {
        switch self {
        case .secret: "cluster.secret differs"
        case .clock: "the clocks differ by more than \(Self.life) s"
        case .node: "the request was for another node: cluster.advertise of that one leads to this address"
        }
    }

    /// - Parameter value: of the header; nodes of earlier versions say `token`.
    package static func explanation(_ value: String) -> String {
        "it refuses this node's token: "
            + (PeerRefusal(rawValue: value)?.explanation
                ?? "cluster.secret differs, or the clocks differ by more than \(life) s")
    }
}
