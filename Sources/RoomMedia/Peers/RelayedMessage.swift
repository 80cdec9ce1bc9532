/// A data channel message that went through the room.
public struct RelayedMessage: Hashable, Sendable {
    public enum Content: Hashable, Sendable { case text(String), binary([UInt8]) }
    public var from: String
    public var label: String
    public var content: Content

    public init(from: String, label: String, content: Content) {
        self.from = from
        self.label = label
        self.content = content
    }
}
