/// One thing that happened in a recorded room, in the file of events beside a recording.
package struct TimelineEvent: Codable, Hashable, Sendable {
    package enum Kind: String, Codable, Sendable {
        /// A participant's time in the recording.
        case joined, left
        /// A participant's screen.
        case presenting, notPresenting
        case speaking, silent
        /// From when on a participant is left out of the recording, and no more so.
        case unrecorded, recorded
        /// The layout of the recorded picture.
        case layout
        /// A mark that somebody set.
        case mark
    }

    package var kind: Kind
    /// Seconds in the recording's media.
    package var at: Double
    /// nil for `layout`, and for marks of administrators.
    package var participant: String?
    /// The participant's name, the layout's name, or the mark's text.
    package var name: String?

    package init(_ kind: Kind, at: Double = 0, participant: String? = nil, name: String? = nil) {
        self.kind = kind
        self.at = at
        self.participant = participant
        self.name = name
    }
}
