/// Where and how recordings are made.
public struct RecordingConfiguration: Sendable, Hashable {
    public var directory: String
    public var audio: RecordingAudio
    /// What a crash costs at most, give or take a frame: 1 to 2 s.
    public var fragment: Duration
    /// A new file after this time; 0 for one file.
    public var segment: Duration

    public init(
        directory: String = "recordings", audio: RecordingAudio = .aac, fragment: Duration = .seconds(1),
        segment: Duration = .zero
    ) {
        self.directory = directory
        self.audio = audio
        self.fragment = fragment
        self.segment = segment
    }
}
