import Basics

/// What a client that asks to be let in gets.
enum WaitingStart: Hashable, Sendable {
    /// It waits, in the place of another wait where there was no place left.
    case waits(displaced: String?)
    /// It need not wait any more.
    case mayJoin
}

/// Those who wait to be let into a room, and those who were let in and have not joined yet. A value; time is an
/// argument.
struct WaitingList: Sendable {
    /// The most who wait for one room: more than a moderator reads.
    static let limit = 100
    /// The longest wait.
    static let timeout = Duration.seconds(1800)
    /// The time in which one who was let in has to join.
    static let admissionTimeout = Duration.seconds(30)
    /// How long a refused site stays refused, and how many may be: a moderator who refuses more has other means.
    static let refusalTime = Duration.seconds(600)
    static let mostRefusedSites = 64

    /// The first comer first.
    private(set) var people: [WaitingPerson] = []
    private var since: [String: Instant] = [:]
    private var admitted: [String: Instant] = [:]
    /// Who has the places, and from where. Moderators see no addresses: they refuse that of one who waits.
    private var places = FairShare<String>(total: limit, replacesOwn: false)
    private var addresses: [String: IPAddress] = [:]
    /// The sites that a moderator has refused, and until when.
    private var refusedSites: [IPNetwork: Instant] = [:]

    var isEmpty: Bool { people.isEmpty }

    /// Adds one who waits. Returns the id of the wait that has lost its place to this one.
    mutating func add(
        _ person: WaitingPerson, from address: IPAddress?, at now: Instant
    ) throws(ConferenceError) -> String? {
        if let site = address?.sharePrefixes.first, let until = refusedSites[site], now < until {
            throw .forbidden("A moderator of this room does not let in anybody of your network.")
        }
        var displaced: String?
        switch places.claim(person.id, from: address, at: now) {
        case .taken: break
        case .displaced(let other, _):
            _ = remove(other, at: now)
            displaced = other
        case .refused:
            throw .atCapacity(
                "\(Self.limit) people wait for this room, which is all that may: try again later.",
                retryAfter: .seconds(60))
        }
        people.append(person)
        since[person.id] = now
        addresses[person.id] = address
        return displaced
    }

    /// Ends a wait, or everyone's. Returns the ids.
    mutating func remove(_ id: String?, at now: Instant) -> [String] {
        let gone = people.map(\.id).filter { id == nil || $0 == id }
        people.removeAll { id == nil || $0.id == id }
        for id in gone {
            since[id] = nil
            addresses[id] = nil
            places.release(id, at: now)
        }
        return gone
    }

    /// Ends the waits of one person's site (`IPAddress.sharePrefixes`), and refuses others of it for a while. Where the
    /// address is unknown, only that person's. Returns the ids.
    mutating func refuseSite(of id: String, at now: Instant) -> [String] {
        guard let site = addresses[id]?.sharePrefixes.first else { return remove(id, at: now) }
        refusedSites = refusedSites.filter { now < $0.value }
        if refusedSites.count >= Self.mostRefusedSites, let first = refusedSites.min(by: { $0.value < $1.value }) {
            refusedSites[first.key] = nil
        }
        refusedSites[site] = now + Self.refusalTime
        return people.map(\.id).filter { addresses[$0]?.sharePrefixes.first == site }.flatMap { remove($0, at: now) }
    }

    /// Lets in one, or everyone. Returns the ids.
    mutating func admit(_ id: String?, at now: Instant) -> [String] {
        let gone = remove(id, at: now)
        for id in gone { admitted[id] = now }
        return gone
    }

    /// Lets in one who need not wait any more.
    mutating func admitAtOnce(_ id: String, at now: Instant) { admitted[id] = now }

    func isAdmitted(_ id: String) -> Bool { admitted[id] != nil }
    mutating func joined(_ id: String) { admitted[id] = nil }

    /// Ends the waits that took too long. Returns their ids.
    mutating func expire(at now: Instant) -> [String] {
        admitted = admitted.filter { now - $0.value < Self.admissionTimeout }
        return since.filter { now - $0.value >= Self.timeout }.keys.flatMap { remove($0, at: now) }
    }

    /// Whether `expire` has something to do.
    func isDue(at now: Instant) -> Bool {
        admitted.values.contains { now - $0 >= Self.admissionTimeout }
            || since.values.contains { now - $0 >= Self.timeout }
    }
}
