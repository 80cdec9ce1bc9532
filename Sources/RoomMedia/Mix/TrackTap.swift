package import Peer

/// A participant's part of a tick of the room's audio, before gain and mix.
package struct TrackVoice: Sendable {
    package var participant: String
    /// 20 ms; nil: silence, as of who is muted.
    package var samples: [Float]?
    /// From the capture of the first sample to the tick; nil: nothing is played.
    package var delay: Duration?
}

/// A frame as a participant sent it.
package struct TrackPicture: Sendable {
    package var participant: String
    /// The video section that sends it.
    package var source: VideoSource
    /// Whether it shows a screen.
    package var isScreen: Bool
    package var received: ReceivedVideoFrame
}

/// What takes each participant's audio and pictures by themselves, of those only who may be recorded.
package struct TrackTap: Sendable {
    /// Takes each tick with its room time at 48 kHz, on the audio thread: all who may be recorded.
    package var voices: @Sendable ([TrackVoice], Int64) -> Void
    /// Takes frames on the senders' loops. Returns whether it needs a keyframe. nil: pictures are not taken.
    package var picture: (@Sendable (TrackPicture) -> Bool)?

    package init(
        voices: @escaping @Sendable ([TrackVoice], Int64) -> Void, picture: (@Sendable (TrackPicture) -> Bool)?
    ) {
        self.voices = voices
        self.picture = picture
    }
}
