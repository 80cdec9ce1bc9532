/// A complete file of a recording. `recording.segment` makes several.
package struct RecordingPart: Codable, Hashable, Sendable {
    /// The file's name, without its directory.
    package var file: String
    /// In seconds; nil in the entries of older versions.
    package var duration: Double?
    package var bytes: Int?

    package init(file: String, duration: Double? = nil, bytes: Int? = nil) {
        self.file = file
        self.duration = duration
        self.bytes = bytes
    }
}
