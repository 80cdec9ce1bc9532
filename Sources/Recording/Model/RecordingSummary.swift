import Basics

/// The summary of a finished recording.
package struct RecordingSummary: Sendable {
    /// The path of the first part.
    package var file: String
    /// The paths of all parts, in order.
    package var files: [String]
    /// The same with their lengths and sizes.
    package var parts: [RecordingPart] = []
    package var duration: Duration
    package var bytes: Int
    /// Codec names, e.g. `h264`, `aac`.
    package var tracks: [String]
    /// The files of single participants.
    package var participantTracks: [RecordingTrack] = []
    /// The frames of all parts.
    package var frameCount = 0
    /// How smooth the picture is; nil where it is audio alone, or not known.
    package var frames: RecordingFrames?
    /// The media that was lost because of a slow disk.
    package var dropped = RecordingLosses()
    /// Why the recording ended early, if it did.
    package var failure: RecordingError?
}
