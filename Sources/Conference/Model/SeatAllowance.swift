import Basics

/// What a participant may ask for again and again, and how often: each costs everyone in the room, or the loop of all
/// rooms.
enum RatedRequest: String, Sendable, CaseIterable {
    /// An offer, an answer or an ICE restart.
    case offer
    case candidate
    case chat
    /// What is switched on, and presenting.
    case state
    case layout
    /// A picture of one's own that nobody of the room has yet: a compositor and encoders are made for it.
    case view
    /// A data channel message that comes through signalling.
    case message

    /// Lastingly, and at once. People and pages stay far below: a page sends a few offers when it begins to present,
    /// one state for each click, and up to 20 candidates for each interface at the start.
    var allowance: (perSecond: Double, atOnce: Double) {
        switch self {
        case .offer: (2, 10)
        case .candidate: (20, 200)
        case .chat: (5, 20)
        case .state: (10, 30)
        case .layout: (2, 10)
        case .view: (0.2, 4)
        case .message: (50, 200)
        }
    }

    /// What there was too much of, for a sentence.
    var plural: String {
        switch self {
        case .offer: "offers"
        case .candidate: "candidates"
        case .chat: "chat messages"
        case .state: "changes of state"
        case .layout: "changes of layout"
        case .view: "pictures of your own"
        case .message: "messages"
        }
    }
}

/// How much one seat may still ask for. A value.
struct SeatAllowance: Sendable {
    /// Made when first used: most seats use two or three of them.
    private var buckets: [RatedRequest: TokenBucket] = [:]

    /// Takes one, or says when to come again.
    mutating func take(_ request: RatedRequest, at now: Instant) throws(ConferenceError) {
        let (rate, size) = request.allowance
        var bucket = buckets[request] ?? TokenBucket(rate: rate, size: size, at: now)
        defer { buckets[request] = bucket }
        if bucket.take(at: now) { return }
        throw .tooFast("Too many \(request.plural): try again in a moment.", retryAfter: bucket.wait(at: now))
    }
}

/// One participant as the conference counts it, whatever its room.
struct Seat: Sendable {
    let room: String
    let client: JoinClient
    let life: SeatLife
    var allowance = SeatAllowance()
    /// Since when its peer is being connected; nil: it has none, or it is connected.
    var halfOpenSince: Instant?
}
