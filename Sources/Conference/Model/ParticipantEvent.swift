import Basics
public import RoomMedia

/// What a participant's door tells its client. In order, on a thread of the conference's own; must not block it for
/// long.
public enum ParticipantEvent: Hashable, Sendable {
    /// At most four a second for one room.
    case participants(RosterUpdate)
    case tiles(TilesInfo)
    /// Who speaks; nil: nobody.
    case speaker(String?)
    case layout(String)
    /// nil: nothing is recorded any more.
    case recording(RecordingInfo?)
    case chat(ChatMessage)
    case role(Role)
    case link(LinkState)
    /// A data channel message of another participant, only for those who joined with `receivesMessages`.
    case message(RelayedMessage)
    /// Media flows (true) or stopped flowing (false).
    case connection(Bool)
    /// The end: nothing comes after it.
    case left(LeaveReason)
    case error(ConferenceError)
}

public enum LeaveReason: String, Sendable {
    case left, removed, roomEnded = "room_ended", timeout, failed, draining, replaced
    /// The peer made the server do more than one peer may, for too long.
    case overBudget = "over_budget"

    init(_ end: PeerEnd) {
        self =
            switch end {
            case .left: .left
            case .failed: .failed
            case .overBudget: .overBudget
            }
    }
}
