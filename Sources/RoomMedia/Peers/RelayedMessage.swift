/// A data channel message that the room relayed.
public struct RelayedMessage: Hashable, Sendable {
    public enum Content: Hashable, Sendable { case text(String), binary([UInt8]) }
    /// The sender's participant id.
    public var from: String
    /// The data channel's label.
    public var label: String
    public var content: Content

    public init(from: String, label: String, content: Content) {
        self.from = from
        self.label = label
        self.content = content
    }
}
