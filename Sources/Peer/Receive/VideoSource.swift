/// One of the two pictures that a peer may send.
public enum VideoSource: Hashable, Sendable, CaseIterable {
    case camera
    /// The second video section (``PeerConfiguration/acceptsScreen``).
    case screen
}
