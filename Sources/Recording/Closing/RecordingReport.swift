import Basics

/// The result of `RecordingRepair.check`.
package struct RecordingReport: Sendable {
    package struct Track: Sendable {
        package enum Kind: Sendable { case video, audio }
        package var kind: Kind
        /// e.g. `h264`, `aac`.
        package var codec: String
        /// The time of the first picture or sample, and the end of the last one.
        package var start: Duration
        package var end: Duration
        /// In pixels; 0 for audio.
        package var width: Int
        package var height: Int
        package var packetCount: Int
        /// The number of keyframes, to which a player can seek.
        package var keyframeCount: Int
    }

    package var file: String
    package var bytes: Int
    package var duration: Duration
    package var tracks: [Track]
    /// The start of the audio minus the start of the video: above zero when the audio begins later. Nil unless both
    /// exist.
    package var avOffset: Duration?
    /// The end of the audio minus the end of the video.
    package var avOffsetAtEnd: Duration?
    /// Whether the file is an ordinary MP4 with one index; a recording that a crash left open is not.
    package var closedProperly: Bool

    /// A report whose duration and offsets are computed from the tracks.
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

    /// The file as a part of its recording.
    var part: RecordingPart {
        RecordingPart(
            file: file.split(separator: "/").last.map(String.init) ?? file, duration: duration.roundedSeconds,
            bytes: bytes)
    }
}
