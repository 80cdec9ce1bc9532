/// Who decided that a participant is left out of recordings, streams and whatever else leaves the room. Each decision
/// stands until the same one takes it back.
package enum RecordingRefusal: String, Sendable, CaseIterable, Comparable {
    /// The participant.
    case own = "self"
    /// The token of its join.
    case token
    /// A moderator or an administrator.
    case host

    package static func < (first: RecordingRefusal, second: RecordingRefusal) -> Bool {
        first.rawValue < second.rawValue
    }
}
