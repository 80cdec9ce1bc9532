import Basics

/// The camera or the screen of a participant.
struct TrackSource: Hashable, Sendable {
    var participant: String
    var isScreen: Bool
}

/// What a tick of a room's audio has for the tracks of a recording.
struct TrackBatch: Sendable {
    struct Voice: Sendable {
        var participant: String
        /// 20 ms from the tick on; nil: silence.
        var samples: [Float]?
    }

    struct Frame: Sendable {
        var source: TrackSource
        var kind: RecordingTrack.Kind
        var frame: EncodedVideoFrame
        var rotation: Rotation
        /// The room time at which the audio of its capture is heard.
        var time: RecordingSession.Time
    }

    /// The room time.
    var time: RecordingSession.Time
    /// All who are recorded.
    var voices: [Voice]
    var frames: [Frame]
}
