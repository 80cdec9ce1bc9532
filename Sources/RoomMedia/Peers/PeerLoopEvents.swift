package import Basics

/// The loop's events for the rooms. Called on the loop; must not block.
package struct PeerLoopEvents: Sendable {
    /// The peer's media connection began or ended at `since`.
    package var media: @Sendable (_ participant: String, _ isConnected: Bool, _ since: Instant) -> Void
    /// The connection is over. `why`: a sentence for the log; nil where the peer closed the connection.
    package var ended: @Sendable (_ participant: String, _ reason: PeerEnd, _ why: String?) -> Void
    package var link: @Sendable (_ participant: String, LinkState) -> Void
    /// What the participant says to send and the server does not get, at each change.
    package var missing: @Sendable (_ participant: String, MediaKinds) -> Void
    /// A message on the data channel of a peer's chat. The channels of the others get it by the loops.
    package var chat: @Sendable (_ room: String, RelayedMessage) -> Void

    package init(
        media: @escaping @Sendable (_ participant: String, _ isConnected: Bool, _ since: Instant) -> Void,
        ended: @escaping @Sendable (_ participant: String, _ reason: PeerEnd, _ why: String?) -> Void,
        link: @escaping @Sendable (_ participant: String, LinkState) -> Void,
        missing: @escaping @Sendable (_ participant: String, MediaKinds) -> Void = { _, _ in },
        chat: @escaping @Sendable (_ room: String, RelayedMessage) -> Void
    ) {
        self.media = media
        self.ended = ended
        self.link = link
        self.missing = missing
        self.chat = chat
    }
}
