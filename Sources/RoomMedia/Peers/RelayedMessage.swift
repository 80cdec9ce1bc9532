/// A data channel message that the room relayed.
package struct RelayedMessage: Hashable, Sendable {
    package enum Content: Hashable, Sendable { case text(String), binary([UInt8]) }
    /// The sender's participant id.
    package var from: String
    /// The data channel's label.
    package var label: String
    package var content: Content
    /// The sender's, whose other participants get the message.
    package var group: GroupID

    package init(from: String, label: String, content: Content, group: GroupID = .main) {
        self.from = from
        self.label = label
        self.content = content
        self.group = group
    }
}
