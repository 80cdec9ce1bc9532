public import FoundationEssentials

/// A source that is to be pulled into a room.
public struct InputWish: Hashable, Sendable {
    /// A URL, or the path of a file below the folder of the settings.
    public var url: String
    /// Of the participant.
    public var name: String
    /// Whether a source with an end starts again there.
    public var loops: Bool

    public init(url: String, name: String, loops: Bool = false) {
        self.url = url
        self.name = name
        self.loops = loops
    }
}

/// A source that the server pulls into a room.
public struct InputInfo: Hashable, Sendable {
    public enum State: String, Sendable, CaseIterable {
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

    public var id: String
    public var room: String
    /// The id of its participant.
    public var participant: String
    public var name: String
    /// Without credentials and keys.
    public var url: String
    public var loops: Bool
    public var state: State
    /// When the state began.
    public var since: Date
    /// Attempts in vain since it was live last.
    public var attempts = 0
    /// Why it is retrying or has failed.
    public var reason: String?
}
