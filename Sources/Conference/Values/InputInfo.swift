package import FoundationEssentials

/// A source that is to be pulled into a room.
package struct InputRequest: Hashable, Sendable {
    /// A URL, or the path of a file below the folder of the settings.
    package var url: String
    /// Of the participant.
    package var name: String
    /// Whether a source with an end starts again there.
    package var loops: Bool

    package init(url: String, name: String, loops: Bool = false) {
        self.url = url
        self.name = name
        self.loops = loops
    }
}

/// A source that the server pulls into a room.
package struct InputInfo: Hashable, Sendable {
    package enum State: String, Sendable, CaseIterable {
        /// Before its first packet.
        case connecting
        case live
        /// The source is lost or could not be opened, and is tried again.
        case retrying
        /// It is not tried again, and its participant has left.
        case failed
        /// The source came to its end, or the input was taken away.
        case ended
    }

    package var id: String
    package var room: String
    /// The id of its participant.
    package var participant: String
    package var name: String
    /// Without credentials and keys.
    package var url: String
    package var loops: Bool
    package var state: State
    /// When the state began.
    package var since: Date
    /// Attempts in vain since it was live last.
    package var attempts = 0
    /// Why it is retrying or has failed.
    package var reason: String?
}
