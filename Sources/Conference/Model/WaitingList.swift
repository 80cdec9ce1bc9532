import Basics

/// Who is let into a room at once.
package enum Admission: String, Sendable, CaseIterable {
    case anyone
    /// Moderators; everyone else waits until a moderator decides.
    case moderator
}

/// One who waits to be let in, as moderators see it.
package struct WaitingPerson: Hashable, Sendable {
    package var id: String
    package var name: String
    /// The person, or another one of the same address, was removed from this meeting.
    package var wasRemoved = false
}

/// How a wait ended.
package enum WaitingEnd: Hashable, Sendable {
    /// A moderator lets the client in: a join with the id of the wait as `JoinRequest.admission` gets a seat.
    case admitted
    case refused
    case timeout
    /// The client has gone.
    case left
    /// The room has ended.
    case ended(LeaveReason)
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

    /// The first comer first.
    private(set) var people: [WaitingPerson] = []
    private var since: [String: Instant] = [:]
    private var admitted: [String: Instant] = [:]

    var isEmpty: Bool { people.isEmpty }

    mutating func add(_ person: WaitingPerson, at now: Instant) throws(ConferenceError) {
        if people.count >= Self.limit {
            throw .atCapacity(
                "\(Self.limit) people wait for this room, which is all that may: try again later.",
                retryAfter: .seconds(60))
        }
        people.append(person)
        since[person.id] = now
    }

    /// Ends a wait, or everyone's. Returns the ids.
    mutating func remove(_ id: String?) -> [String] {
        let gone = people.map(\.id).filter { id == nil || $0 == id }
        people.removeAll { id == nil || $0.id == id }
        for id in gone { since[id] = nil }
        return gone
    }

    /// Lets in one, or everyone. Returns the ids.
    mutating func admit(_ id: String?, at now: Instant) -> [String] {
        let gone = remove(id)
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
        return since.filter { now - $0.value >= Self.timeout }.keys.flatMap { remove($0) }
    }

    /// Whether `expire` has something to do.
    func isDue(at now: Instant) -> Bool {
        admitted.values.contains { now - $0 >= Self.admissionTimeout }
            || since.values.contains { now - $0 >= Self.timeout }
    }
}
