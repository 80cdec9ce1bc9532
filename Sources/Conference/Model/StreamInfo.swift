public import FoundationEssentials
public import Streaming

/// A stream of a room to another server, as clients see it.
public struct StreamInfo: Hashable, Sendable {
    public var id: String
    public var room: String
    /// Without credentials.
    public var url: String
    /// The name of the view.
    public var view: String
    public var keyframeInterval: Duration
    public var state = StreamState.connecting
    public var startedAt: Date
    /// Bytes of media that the server took.
    public var bytes = 0
    /// Frames that were dropped because the server or the network was too slow.
    public var dropped = 0
}

/// What a stream is asked to be; nil: as the configuration says.
public struct StreamRequest: Hashable, Sendable {
    public var url: String
    /// The name of the view; nil: `main`.
    public var view: String?
    public var keyframeInterval: Duration?

    public init(url: String, view: String? = nil, keyframeInterval: Duration? = nil) {
        self.url = url
        self.view = view
        self.keyframeInterval = keyframeInterval
    }

    /// The allowed time between two keyframes.
    public static let keyframeIntervals = Duration.milliseconds(500)...(.seconds(10))
}
