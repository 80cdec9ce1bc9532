import Basics

/// For whom a stored picture counts, and with what it ends.
struct PictureOwner: Hashable, Sendable {
    /// A meeting of a room.
    struct Meeting: Hashable, Sendable {
        var room: String
        /// Of the meeting itself: the next one of the room has another.
        var id: String
    }

    /// The meeting in whose chat the picture is; nil: it is in no room's chat.
    var meeting: Meeting?
    /// The sender's address; nil: unknown.
    var address: IPAddress?

    init(meeting: Meeting? = nil, address: IPAddress? = nil) {
        self.meeting = meeting
        self.address = address?.clientPrefix
    }
}
