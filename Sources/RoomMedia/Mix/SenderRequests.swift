import Basics
import Peer

/// How the room asks a participant for other frames. Called on any thread.
struct SenderRequests: Sendable {
    /// Requests a keyframe of a picture.
    var keyframe: @Sendable (VideoSource) -> Void
    /// Asks for at most this bit rate of a picture, whatever its tiles need; nil: for what they need.
    var limit: @Sendable (VideoSource, BitRate?) -> Void
}
