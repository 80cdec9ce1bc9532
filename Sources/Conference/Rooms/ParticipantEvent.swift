import Basics

/// What a participant's door tells its client. In order, on a thread of the conference's own; must not block it for long.
public enum ParticipantEvent: Sendable {
    case participants([ParticipantInfo])
    case tiles(TilesInfo)
    /// Who speaks; nil: nobody.
    case speaker(String?)
    case layout(String)
    /// nil: nothing is recorded any more.
    case recording(RecordingInfo?)
    case chat(ChatMessage)
    case role(Role)
    case line(LineState)
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
}

/// What a participant's line leaves of the room: the top rung, a lower one, sound with a picture every few seconds, sound alone.
public enum LineMode: String, Sendable { case full, reduced, stills, audio }

/// The state of a participant's line, once a second while it changes and at every change of rung.
public struct LineState: Hashable, Sendable {
    /// What the line is thought to carry towards the participant.
    public var estimate: BitRate
    /// What is sent to and received from it now.
    public var sent: BitRate
    public var received: BitRate
    /// 0 … 1.
    public var lossDown: Double
    public var lossUp: Double
    public var roundTrip: Duration
    /// The height of the picture that it gets; 0: audio (with a picture every few seconds).
    public var rung: Int
    /// Why the rung changed last, in a sentence; empty: it never did.
    public var reason: String
    public var mode = LineMode.full
}
