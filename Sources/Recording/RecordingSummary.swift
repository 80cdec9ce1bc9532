import Basics

/// What a finished recording is.
public struct RecordingSummary: Sendable {
    /// The first part.
    public var file: String
    /// All parts, in order; one without segments.
    public var files: [String]
    public var duration: Duration
    public var bytes: Int
    /// Codec names, e.g. `h264`, `aac`.
    public var tracks: [String]
    /// What a slow disk lost.
    public var dropped = RecordingLosses()
    /// Why it ended early, if it did.
    public var failure: RecordingError?
}
