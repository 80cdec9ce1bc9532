/// When a recording begins a new file, and when it ends by itself.
package struct RecordingLimits: Sendable, Equatable {
    /// The time after which a new file (`name-2.mp4` …) begins with a keyframe; zero: one file.
    package var segment: Duration
    /// The length, without pauses, at which the recording ends; zero: none.
    package var length: Duration
    /// The bytes of all files at which the recording ends, to within a second of media; 0: none.
    package var size: Int

    package init(segment: Duration = .zero, length: Duration = .zero, size: Int = 0) {
        self.segment = segment
        self.length = length
        self.size = size
    }

    /// Why a recording of this length and size ends; nil: it goes on.
    func reached(length: Duration, size: Int) -> RecordingError? {
        if self.length > .zero, length >= self.length { return .tooLong(limit: self.length) }
        if self.size > 0, size >= self.size { return .tooLarge(limit: self.size) }
        return nil
    }
}
