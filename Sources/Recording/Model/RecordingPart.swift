import Basics

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

extension Duration {
    /// Seconds to the millisecond, as files and answers have them.
    package var roundedSeconds: Double { inSeconds.toMilliseconds }
}

extension Double {
    /// Seconds without the digits that a clock of other ticks leaves.
    package var toMilliseconds: Double { (self * 1000).rounded() / 1000 }
}
