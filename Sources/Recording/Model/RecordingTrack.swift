/// One file of a recording with what one participant sent: its audio, or its camera or screen as received.
package struct RecordingTrack: Codable, Hashable, Sendable {
    package enum Kind: String, Codable, Sendable, CaseIterable { case audio, camera, screen }

    /// The participant's id in the room.
    package var participant: String
    /// The name that it had when the file began.
    package var name: String
    package var kind: Kind
    /// The file's name, without its directory.
    package var file: String
    /// `opus`, `h264` or `vp8`.
    package var codec: String
    /// The clockwise angle by which the pictures are to be turned for display; nil: none.
    package var rotation: Int?
    /// Where the file's time zero is in the recording, in seconds.
    package var start: Double
    /// In seconds; nil while the file is written.
    package var duration: Double?
    package var bytes: Int?

    package init(
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
package struct RecordingContent: Hashable, Sendable {
    /// Whether the file has audio alone.
    package var audioOnly: Bool
    /// Whether each participant's audio and, unless `audioOnly`, pictures are written beside it.
    package var tracks: Bool

    package init(audioOnly: Bool = false, tracks: Bool = false) {
        self.audioOnly = audioOnly
        self.tracks = tracks
    }

    /// The suffix of the recording's file.
    package var suffix: String { audioOnly ? RecordingFile.audioSuffix : RecordingFile.videoSuffix }
}
