package import WebServer

extension Access: CaseIterable {
    /// WHIP, WHEP and signalling, which check tokens themselves.
    package static let endpoint = Access("endpoint")
    /// Reading: free in mode `open`; in mode `token` the admin token, or a guest's for that guest's room.
    package static let reader = Access("reader")
    /// Who and what is in a room: as `reader`, and for who sits there; of a private room (`RoomSettings.isPrivate`) only
    /// for administrators, who sits there, and moderators by token.
    package static let insider = Access("insider", isDecidedAlike: false)
    /// Data that every page needs, independent of its room: as `reader`, and in mode `token` for every guest.
    package static let guest = Access("guest")
    /// Reading recordings: as `reader` while no token is configured at all, otherwise for administrators only; a single
    /// one also for who has its key.
    package static let recordings = Access("recordings")
    /// A recording's file: as `recordings`, and for the holder of a signed link to it.
    package static let recordingFile = Access("recordingFile")
    /// Changing one recording that is complete: for administrators, and for the hosts of its meeting, who have its key.
    package static let recordingKeeper = Access("recordingKeeper")
    /// What is one participant's own, by the `id` in the path: for administrators, and for who sits there.
    package static let seat = Access("seat", isDecidedAlike: false)
    /// What a room's hosts do beside their signalling: for administrators, and for who sits there; the conference looks
    /// at the role.
    package static let host = Access("host", isDecidedAlike: false)
    /// Changing something.
    package static let admin = Access("admin")

    package static let allCases: [Access] = [
        .everyone, .endpoint, .reader, .insider, .guest, .recordings, .recordingFile, .recordingKeeper, .seat, .host,
        .admin,
    ]
}
