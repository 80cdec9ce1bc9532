import Basics
package import RoomMedia

/// An event for a participant's endpoint, which announces it to the client. Events come in order, on the control
/// thread, which the endpoint must not block.
package enum ParticipantEvent: Hashable, Sendable {
    /// The members of the room, at most four times a second.
    case participants(RosterUpdate)
    case tiles(TilesInfo)
    /// The dominant speaker; nil: none.
    case speaker(String?)
    /// What the participant sees, after a change; `by`: the participant who has changed the picture of everyone.
    case layout(ShownLayout, by: String? = nil)
    /// nil: the room is not recorded any more.
    /// The one that clients of a single recording are shown, and all that run or are paused.
    case recording(RecordingInfo?, all: [RecordingInfo] = [])
    /// Whether the room is streamed to another server.
    case streaming(Bool)
    /// A message of the chat, also one of the participant itself. Not for those who joined with a `chatChannel`.
    case chat(ChatMessage)
    /// The participant's own role has changed, or its key: by that it is a host of the room when it comes back.
    case role(Role, hostKey: String? = nil)
    /// What the participant is to know of the breakout groups.
    case breakout(BreakoutNotice)
    /// The room's settings for everyone (`RoomSettings.access`).
    case access(RoomAccess)
    /// Who waits to be let in. For moderators only.
    case waiting([WaitingPerson])
    /// So many wrong PINs were tried that further tries wait. For moderators only.
    case pinTries(Int)
    /// A moderator switched the participant's audio off.
    case muted(by: String)
    /// The participant's audio stays off, though its client has switched it on.
    case keptMuted(MuteReason)
    /// A moderator asks something of the client.
    case asked(ModeratorWish, by: String)
    case link(LinkState)
    /// The media connection is up (true) or lost (false).
    case connection(Bool)
    /// The room goes to another server, which takes joins by tickets now; the seat here ends after `within` at the
    /// latest. For participants with native signalling.
    case moving(within: Duration)
    /// The last event of the participant.
    case left(LeaveReason)
    case error(ConferenceError)
}

package enum LeaveReason: String, Sendable, CaseIterable {
    case left, removed, roomEnded = "room_ended", timeout, failed, draining, replaced
    /// The peer exceeded its budget for too long.
    case overBudget = "over_budget"
    /// Another server has the room.
    case moved

    init(_ end: PeerEnd) {
        self =
            switch end {
            case .left: .left
            case .failed: .failed
            case .overBudget: .overBudget
            }
    }
}
