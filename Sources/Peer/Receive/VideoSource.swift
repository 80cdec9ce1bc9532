/// One of the two pictures that a peer may send.
public enum VideoSource: Hashable, Sendable, CaseIterable {
    /// The first video section, which every peer may send.
    case camera
    /// The second video section (``PeerConfiguration/acceptsScreen``).
    case screen
}
