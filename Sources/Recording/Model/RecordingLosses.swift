/// The media that a recording lost because the disk was too slow.
package struct RecordingLosses: Codable, Hashable, Sendable {
    /// Lost frames; after one lost frame all are lost up to the next keyframe.
    package var video = 0
    /// Lost blocks of audio, 20 ms each in a room, which are silence in the file.
    package var audio = 0

    package init(video: Int = 0, audio: Int = 0) {
        self.video = video
        self.audio = audio
    }

    package var isEmpty: Bool { video == 0 && audio == 0 }

    package static func + (a: RecordingLosses, b: RecordingLosses) -> RecordingLosses {
        RecordingLosses(video: a.video + b.video, audio: a.audio + b.audio)
    }
}
