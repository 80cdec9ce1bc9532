/// The place of a recording among those of one meeting that went on at other servers: each is complete by itself.
public struct RecordingSeries: Hashable, Sendable {
    /// The id of the first recording.
    public var id: String
    /// From 1 on.
    public var part: Int

    public init(id: String, part: Int) {
        self.id = id
        self.part = part
    }
}
