/// A data channel message that the room relayed.
package struct RelayedMessage: Hashable, Sendable {
    package enum Content: Hashable, Sendable { case text(String), binary([UInt8]) }
    /// The sender's participant id.
    package var from: String
    /// The data channel's label.
    package var label: String
    package var content: Content

    package init(from: String, label: String, content: Content) {
        self.from = from
        self.label = label
        self.content = content
    }
}
