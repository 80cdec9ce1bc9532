import Basics

/// Limits how many rooms, seats, seats with an unconnected peer, and waits for admission the whole server and each
/// client's address may have at once, by fair shares.
///
/// A value. Who has been displaced has lost its place already; the caller ends it.
struct Capacity: Sendable {
    enum Kind: String, Sendable, CaseIterable {
        case rooms, seats, waiting
        case halfOpen = "half_open"
    }

    /// What has lost its place to a newcomer.
    enum Displaced: Hashable, Sendable {
        /// `wasEmpty`: nobody had a seat of the room when it lost its place.
        case room(String, wasEmpty: Bool)
        case seat(String)
        case halfOpen(String)
        case wait(id: String, room: String)
    }

    /// A seat's place. The number tells it from another place for the same id: two clients may ask for the seat of one
    /// ticket.
    struct SeatPlace: Hashable, Sendable {
        let id: String
        let number: UInt64
    }

    struct Wait: Hashable, Sendable {
        let id: String
        let room: String
    }

    private(set) var rooms: FairShare<String>
    private(set) var seats: FairShare<SeatPlace>
    private(set) var waiting: FairShare<Wait>
    private(set) var halfOpen: FairShare<String>
    private var places: UInt64 = 0

    init(_ limits: ConferenceConfiguration.Limits) {
        rooms = FairShare(total: limits.rooms, perAddress: limits.roomsPerAddress)
        seats = FairShare(total: limits.seats, perAddress: limits.seatsPerAddress)
        waiting = FairShare(total: limits.waiting, perAddress: limits.waitingPerAddress, replacesOwn: false)
        halfOpen = FairShare(total: limits.halfOpen, perAddress: limits.halfOpenPerAddress)
    }

    // MARK: - Claims

    /// Counts a room, which may be displaced until one of its seats is used.
    mutating func claimRoom(_ id: String, for client: JoinClient, at now: Instant) throws(ConferenceError) -> Displaced?
    {
        try Self.claim(&rooms, .rooms, id, client, at: now).map {
            .room($0.holder, wasEmpty: $0.wasAbandoned)
        }
    }

    func hasPlace(room id: String) -> Bool { rooms.holds(id) }

    /// Counts a room whatever the limits: its place is lost, and it has not ended. The rooms may then be one more than
    /// the limit, for each that somebody came into between its displacement and its end, until as many have ended: each
    /// has a seat, so there are never more than seats, and every newcomer still displaces a room or is refused.
    ///
    /// - Parameter isUsed: false: it may be displaced again until one of its seats is used.
    mutating func keepRoom(_ id: String, of client: JoinClient, isUsed: Bool) {
        rooms.add(id, from: client.address, isIdle: !isUsed)
    }

    /// Counts a seat, which cannot be displaced before `rest`.
    mutating func claimSeat(_ id: String, for client: JoinClient, at now: Instant) throws(ConferenceError)
        -> (SeatPlace, Displaced?)
    {
        places += 1
        let place = SeatPlace(id: id, number: places)
        let displaced = try Self.claim(&seats, .seats, place, client, isIdle: false, at: now)
        return (place, displaced.map { .seat($0.holder.id) })
    }

    mutating func claimWait(_ wait: Wait, for client: JoinClient, at now: Instant) throws(ConferenceError) -> Displaced?
    {
        try Self.claim(&waiting, .waiting, wait, client, at: now).map {
            .wait(id: $0.holder.id, room: $0.holder.room)
        }
    }

    mutating func claimHalfOpen(_ id: String, for client: JoinClient, at now: Instant) throws(ConferenceError)
        -> Displaced?
    {
        try Self.claim(&halfOpen, .halfOpen, id, client, at: now).map { .halfOpen($0.holder) }
    }

    private static func claim<Holder>(
        _ share: inout FairShare<Holder>, _ kind: Kind, _ holder: Holder, _ client: JoinClient, isIdle: Bool = true,
        at now: Instant
    ) throws(ConferenceError) -> (holder: Holder, wasAbandoned: Bool)? {
        switch share.claim(holder, from: client.address, as: client.standing, isIdle: isIdle, at: now) {
        case .taken: return nil
        case .displaced(let other, let wasAbandoned): return (holder: other, wasAbandoned: wasAbandoned)
        case .refused(let refusal): throw error(kind, refusal, total: share.total, own: share.perAddress)
        }
    }

    // MARK: - What becomes of them

    mutating func useRoom(_ id: String) { rooms.use(id) }
    mutating func restRoom(_ id: String) { rooms.rest(id) }
    /// Nobody has a seat of the room any more: it gives way to whoever needs its place.
    mutating func abandonRoom(_ id: String) { rooms.abandon(id) }
    mutating func reviveRoom(_ id: String) { rooms.revive(id) }
    mutating func use(_ place: SeatPlace) { seats.use(place) }
    mutating func rest(_ place: SeatPlace) { seats.rest(place) }

    mutating func releaseRoom(_ id: String, at now: Instant) { rooms.release(id, at: now) }
    /// - Parameter unused: it never had media, and its time is over.
    mutating func release(_ place: SeatPlace, unused: Bool = false, at now: Instant) {
        seats.release(place, unused: unused, at: now)
    }
    mutating func release(_ wait: Wait, at now: Instant) { waiting.release(wait, at: now) }
    mutating func releaseHalfOpen(_ id: String, unused: Bool = false, at now: Instant) {
        halfOpen.release(id, unused: unused, at: now)
    }

    // MARK: - Figures

    func count(_ kind: Kind) -> Int {
        switch kind {
        case .rooms: rooms.count
        case .seats: seats.count
        case .waiting: waiting.count
        case .halfOpen: halfOpen.count
        }
    }

    /// Whether another room or seat is refused, whoever asks for it: all places are taken, and none may be displaced.
    var isFull: Bool {
        rooms.count >= rooms.total && rooms.idleCount == 0 || seats.count >= seats.total && seats.idleCount == 0
    }

    var samples: [MetricSample] {
        rooms.samples(Kind.rooms.rawValue) + seats.samples(Kind.seats.rawValue)
            + waiting.samples(Kind.waiting.rawValue) + halfOpen.samples(Kind.halfOpen.rawValue)
    }

    private static func error(
        _ kind: Kind, _ refusal: AddressTally.Refusal, total limit: Int, own: Int
    ) -> ConferenceError {
        switch (kind, refusal) {
        case (.rooms, .total):
            .atCapacity(
                "The server has \(limit) rooms, which is all that it takes: try again when one has ended.",
                retryAfter: .seconds(30))
        case (.rooms, .address):
            .tooFast(
                "Your network address has made \(own) rooms, which is all that one may: join one of them, or end one first.",
                retryAfter: .seconds(30))
        case (.seats, .total):
            .atCapacity(
                "All \(limit) seats of the server are taken: try again when somebody has left.",
                retryAfter: .seconds(30))
        case (.seats, .address):
            .tooFast(
                "\(own) people of your network address are here, which is all that one may have: somebody must leave first.",
                retryAfter: .seconds(30))
        case (.waiting, .total):
            .atCapacity(
                "\(limit) people wait to be let in, which is all that the server takes: try again later.",
                retryAfter: .seconds(60))
        case (.waiting, .address):
            .tooFast(
                "\(own) people of your network address wait to be let in, which is all that one may have.",
                retryAfter: .seconds(60))
        case (.halfOpen, .total):
            .atCapacity(
                "Too many connections are just being made: try again in a few seconds.", retryAfter: .seconds(5))
        case (.halfOpen, .address):
            .tooFast(
                "\(own) connections of your network address are just being made: try again when they are through.",
                retryAfter: .seconds(5))
        }
    }
}
