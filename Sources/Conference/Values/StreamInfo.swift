package import FoundationEssentials
package import Streaming

/// A stream of a room to another server, as clients see it.
package struct StreamInfo: Hashable, Sendable {
    package var id: String
    package var room: String
    /// Without credentials.
    package var url: String
    /// The name of the view.
    package var view: String
    package var keyframeInterval: Duration
    package var state = StreamState.connecting
    package var startedAt: Date
    /// Bytes of media that the server took.
    package var bytes = 0
    /// Frames that were dropped because the server or the network was too slow.
    package var dropped = 0
}

/// What a stream is asked to be; nil: as the configuration says.
package struct StreamRequest: Hashable, Sendable {
    package var url: String
    /// The name of the view; nil: `main`.
    package var view: String?
    package var keyframeInterval: Duration?

    package init(url: String, view: String? = nil, keyframeInterval: Duration? = nil) {
        self.url = url
        self.view = view
        self.keyframeInterval = keyframeInterval
    }

    /// The allowed time between two keyframes.
    package static let keyframeIntervals = Duration.milliseconds(500)...(.seconds(10))
}
