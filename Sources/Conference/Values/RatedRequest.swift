/// The requests of a participant that are limited in rate: each costs everyone in the room, or its loop.
enum RatedRequest: String, Sendable, CaseIterable {
    /// An offer, an answer or an ICE restart.
    case offer
    case candidate
    case chat
    /// Switches (audio, video, hand), and presenting.
    case state
    case layout
    /// A view that no member of the room has yet, which needs a compositor and encoders.
    case view
    /// A picture of the chat, or the own avatar.
    case picture
    /// What moderators do: moderation of others, and settings of the room.
    case moderation
    /// That somebody is recorded again, which costs a change of the recorded picture, and allows another one. Who
    /// does not want to be is never refused.
    case recordedAgain

    /// The sustained rate and the burst. Real clients stay far below: a page sends a few offers when it begins to
    /// present, one state for each click, and up to 20 candidates for each interface at the start.
    var allowance: (perSecond: Double, atOnce: Double) {
        switch self {
        case .offer: (2, 10)
        case .candidate: (20, 200)
        case .chat: (5, 20)
        case .state: (10, 30)
        case .layout: (2, 10)
        case .view: (0.2, 4)
        case .picture: (0.5, 5)
        // A host lowers a dozen hands one by one.
        case .moderation: (5, 30)
        case .recordedAgain: (0.5, 5)
        }
    }

    /// The name of these requests in an error's sentence.
    var plural: String {
        switch self {
        case .offer: "offers"
        case .candidate: "candidates"
        case .chat: "chat messages"
        case .state: "changes of state"
        case .layout: "changes of layout"
        case .view: "pictures of your own"
        case .picture: "pictures"
        case .moderation: "requests about others"
        case .recordedAgain: "changes of who is recorded"
        }
    }
}
