/// A complete file of a recording. `recording.segment` makes several.
public struct RecordingPart: Codable, Hashable, Sendable {
    /// The file's name, without its directory.
    public var file: String
    /// In seconds; nil in the entries of older versions.
    public var duration: Double?
    public var bytes: Int?

    public init(file: String, duration: Double? = nil, bytes: Int? = nil) {
        self.file = file
        self.duration = duration
        self.bytes = bytes
    }
}
