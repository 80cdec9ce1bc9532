import Basics

/// Limits how many rooms, seats, seats with an unconnected peer, and waits for admission the whole server and each
/// client's address may have at once.
///
/// A value. Each `add` is followed by one `remove` of the same address, when the counted room or seat ends.
struct Capacity: Sendable {
    enum Kind: String, Sendable, CaseIterable {
        case rooms, seats, waiting
        case halfOpen = "half_open"
    }

    private var tallies: [Kind: AddressTally]

    init(_ limits: ConferenceConfiguration.Limits) {
        tallies = [
            .rooms: AddressTally(limit: limits.rooms, perAddress: limits.roomsPerAddress),
            .seats: AddressTally(limit: limits.seats, perAddress: limits.seatsPerAddress),
            .waiting: AddressTally(limit: limits.waiting, perAddress: limits.waitingPerAddress),
            .halfOpen: AddressTally(limit: limits.halfOpen, perAddress: limits.halfOpenPerAddress),
        ]
    }

    /// Counts one more, or throws the limit that refuses it.
    mutating func add(_ kind: Kind, of client: JoinClient) throws(ConferenceError) {
        if let refusal = tallies[kind]?.add(client.address) { throw error(kind, refusal) }
    }

    mutating func remove(_ kind: Kind, of client: JoinClient) { tallies[kind]?.remove(client.address) }

    func count(_ kind: Kind) -> Int { tallies[kind]?.count ?? 0 }
    func isFull(_ kind: Kind) -> Bool { tallies[kind].map { $0.count >= $0.limit } ?? false }

    private func error(_ kind: Kind, _ refusal: AddressTally.Refusal) -> ConferenceError {
        let limit = tallies[kind]?.limit ?? 0
        let own = tallies[kind]?.limitPerAddress ?? 0
        switch (kind, refusal) {
        case (.rooms, .total):
            return .atCapacity(
                "The server has \(limit) rooms, which is all that it takes: try again when one has ended.",
                retryAfter: .seconds(30))
        case (.rooms, .address):
            return .tooFast(
                "Your network address has made \(own) rooms, which is all that one may: join one of them, or end one first.",
                retryAfter: .seconds(30))
        case (.seats, .total):
            return .atCapacity(
                "All \(limit) seats of the server are taken: try again when somebody has left.",
                retryAfter: .seconds(30))
        case (.seats, .address):
            return .tooFast(
                "\(own) people of your network address are here, which is all that one may have: somebody must leave first.",
                retryAfter: .seconds(30))
        case (.waiting, .total):
            return .atCapacity(
                "\(limit) people wait to be let in, which is all that the server takes: try again later.",
                retryAfter: .seconds(60))
        case (.waiting, .address):
            return .tooFast(
                "\(own) people of your network address wait to be let in, which is all that one may have.",
                retryAfter: .seconds(60))
        case (.halfOpen, .total):
            return .atCapacity(
                "Too many connections are just being made: try again in a few seconds.", retryAfter: .seconds(5))
        case (.halfOpen, .address):
            return .tooFast(
                "\(own) connections of your network address are just being made: try again when they are through.",
                retryAfter: .seconds(5))
        }
    }

    var samples: [MetricSample] { Kind.allCases.flatMap { kind in tallies[kind]?.samples(kind.rawValue) ?? [] } }
}
