/// The place of a recording among those of one meeting that went on at other servers: each is complete by itself.
package struct RecordingSeries: Hashable, Sendable {
    /// The id of the first recording.
    package var id: String
    /// From 1 on.
    package var part: Int

    package init(id: String, part: Int) {
        self.id = id
        self.part = part
    }
}
