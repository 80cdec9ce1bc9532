/// One file of a recording with what one participant sent: its audio, or its camera or screen as received.
public struct RecordingTrack: Codable, Hashable, Sendable {
    public enum Kind: String, Codable, Sendable, CaseIterable { case audio, camera, screen }

    /// The participant's id in the room.
    public var participant: String
    /// The name that it had when the file began.
    public var name: String
    public var kind: Kind
    /// The file's name, without its directory.
    public var file: String
    /// `opus`, `h264` or `vp8`.
    public var codec: String
    /// The clockwise angle by which the pictures are to be turned for display; nil: none.
    public var rotation: Int?
    /// Where the file's time zero is in the recording, in seconds.
    public var start: Double
    /// In seconds; nil while the file is written.
    public var duration: Double?
    public var bytes: Int?

    public init(
        participant: String, name: String, kind: Kind, file: String, codec: String, start: Double,
        duration: Double? = nil, bytes: Int? = nil
    ) {
        self.participant = participant
        self.name = name
        self.kind = kind
        self.file = file
        self.codec = codec
        self.start = start
        self.duration = duration
        self.bytes = bytes
    }
}

/// The kinds of files that a recording has.
public struct RecordingContent: Hashable, Sendable {
    /// Whether the file has audio alone.
    public var audioOnly: Bool
    /// Whether each participant's audio and, unless `audioOnly`, pictures are written beside it.
    public var tracks: Bool

    public init(audioOnly: Bool = false, tracks: Bool = false) {
        self.audioOnly = audioOnly
        self.tracks = tracks
    }

    /// The suffix of the recording's file.
    public var suffix: String { audioOnly ? RecordingFile.audioSuffix : RecordingFile.videoSuffix }
}
