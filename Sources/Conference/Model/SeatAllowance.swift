import Basics

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

/// The remaining allowance of one seat. A value.
struct SeatAllowance: Sendable {
    /// Created at the first use: most seats use two or three of them.
    private var buckets: [RatedRequest: TokenBucket] = [:]

    /// Takes one request of the allowance, or throws with the time to wait.
    mutating func take(_ request: RatedRequest, at now: Instant) throws(ConferenceError) {
        let (rate, size) = request.allowance
        var bucket = buckets[request] ?? TokenBucket(rate: rate, size: size, at: now)
        defer { buckets[request] = bucket }
        if bucket.take(at: now) { return }
        throw .tooFast("Too many \(request.plural): try again in a moment.", retryAfter: bucket.wait(at: now))
    }
}

/// One participant in the registry of all rooms, or the peer of a participant's screen.
struct Seat: Sendable {
    let room: String
    let client: JoinClient
    let place: Capacity.SeatPlace
    let life: SeatLiveness
    /// The participant whose screen the peer sends; nil: the seat is a participant's.
    var screenOf: String?
    var allowance = SeatAllowance()
    /// When its peer began to connect; nil: there is no peer, or it is connected.
    var halfOpenSince: Instant?
    /// When to look next whether a valid check of that peer has come.
    var nextLook = Instant.distantPast
    /// Whether its peer is connected; without one the seat may be displaced. An input's always is.
    var isUsed = false
    var wasUsed = false
}
