import Basics

/// What `check` found in a recording.
public struct RecordingReport: Sendable {
    public struct Track: Sendable {
        public enum Kind: Sendable { case video, audio }
        public var kind: Kind
        /// e.g. `h264`, `aac`.
        public var codec: String
        /// When its first picture or sample is shown, and when its last one ends.
        public var start: Duration
        public var end: Duration
        /// In pixels; 0 for sound.
        public var width: Int
        public var height: Int
        public var packetCount: Int
        /// Places to which a player can jump.
        public var keyframeCount: Int
    }

    public var file: String
    public var bytes: Int
    public var duration: Duration
    public var tracks: [Track]
    /// The sound's start minus the picture's: above zero when the sound begins later. Nil without both.
    public var avOffset: Duration?
    /// The same for their ends.
    public var avOffsetAtEnd: Duration?
    /// It is an ordinary MP4 with one index; a recording that a crash left open is not.
    public var closedProperly: Bool

    /// Durations and offsets follow from the tracks.
    init(file: String, bytes: Int, tracks: [Track], closedProperly: Bool) {
        let video = tracks.first { $0.kind == .video }
        let audio = tracks.first { $0.kind == .audio }
        let both = video.flatMap { video in audio.map { (video, $0) } }
        self.file = file
        self.bytes = bytes
        self.tracks = tracks
        self.closedProperly = closedProperly
        duration = (tracks.map(\.end).max() ?? .zero) - (tracks.map(\.start).min() ?? .zero)
        avOffset = both.map { $0.1.start - $0.0.start }
        avOffsetAtEnd = both.map { $0.1.end - $0.0.end }
    }
}
