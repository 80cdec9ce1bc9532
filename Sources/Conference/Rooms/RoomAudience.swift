/// Who is told of a room: those who are in it, those who wait, the peers of screens, and the server's events.
struct RoomAudience {
    struct Listener {
        var mailbox: EventMailbox
        /// See `JoinRequest.chatChannel`.
        var chatChannel: String?
        var media: MediaPreferences
    }

    /// One who waits to be let in.
    struct Waiter {
        let client: JoinClient
        let decided: @Sendable (WaitingEnd) -> Void
    }

    /// The peer of a participant's screen.
    struct ScreenListener {
        let participant: String
        let ended: @Sendable () -> Void
    }

    /// By the ids of the members.
    var listeners: [String: Listener] = [:]
    /// By the ids of their waits.
    var waiters: [String: Waiter] = [:]
    /// By the ids of the peers.
    var screens: [String: ScreenListener] = [:]
    /// Decides when the members are announced.
    var announcer = RosterAnnouncer()
    /// Derives the server's events.
    var feed = RoomFeed()
}
