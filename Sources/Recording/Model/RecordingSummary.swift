import Basics

/// The summary of a finished recording.
public struct RecordingSummary: Sendable {
    /// The path of the first part.
    public var file: String
    /// The paths of all parts, in order.
    public var files: [String]
    /// The same with their lengths and sizes.
    public var parts: [RecordingPart] = []
    public var duration: Duration
    public var bytes: Int
    /// Codec names, e.g. `h264`, `aac`.
    public var tracks: [String]
    /// The files of single participants.
    public var participantTracks: [RecordingTrack] = []
    /// The media that was lost because of a slow disk.
    public var dropped = RecordingLosses()
    /// Why the recording ended early, if it did.
    public var failure: RecordingError?
}
