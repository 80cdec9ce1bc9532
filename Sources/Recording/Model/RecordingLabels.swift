import CFFmpeg
package import FoundationEssentials

/// What files of a recording say of themselves, so that archives can name and sort them.
package struct RecordingLabels: Sendable, Equatable {
    package var title: String
    package var room: String
    /// When the file's media began.
    package var created: Date

    package init(title: String, room: String, created: Date) {
        self.title = title
        self.room = room
        self.created = created
    }

    /// The labels of a room's recording: `standup, 2026-07-31 14:05 UTC`.
    package init(room: String, began: Date) {
        let minutes = began.formatted(.iso8601).prefix(16).replacing("T", with: " ")
        self.init(title: "\(room), \(minutes) UTC", room: room, created: began)
    }

    /// The keys of FFmpeg. `album` is what players of MP4 show beside the title.
    static let keys = ["title", "album", "room", "creation_time"]

    /// The same for a file that begins now.
    func now() -> RecordingLabels {
        var labels = self
        labels.created = Date()
        return labels
    }

    func set(on format: UnsafeMutablePointer<AVFormatContext>, isMatroska: Bool) {
        av_dict_set(&format.pointee.metadata, "title", title, 0)
        av_dict_set(&format.pointee.metadata, isMatroska ? "room" : "album", room, 0)
        av_dict_set(&format.pointee.metadata, "creation_time", created.formatted(.iso8601), 0)
    }
}
