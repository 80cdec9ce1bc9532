import Basics
import RoomMedia

/// The breakout groups of a room: which there are, who is in which, and when everybody is called back. A value; time is
/// an argument.
struct Breakout: Hashable, Sendable {
    struct Group: Hashable, Sendable {
        let id: GroupID
        var name: String
        /// The layout that was chosen in the group; nil: the room's.
        var layout: String?
        /// See `Room.layoutChosenDuring`.
        var layoutChosenDuring: Int?
    }

    /// What a moderator does with several groups.
    struct Host: Hashable, Sendable {
        /// The groups that it hears beside its own.
        var listensTo: Set<GroupID> = []
        /// The group whose picture it gets; nil: its own.
        var looksInto: GroupID?
        /// Whether all groups hear it.
        var speaksToAll = false
    }

    /// What the passing of time did.
    enum Turn: Hashable, Sendable {
        case nothing
        /// The countdown has begun.
        case ending
        /// Everybody is back.
        case over
    }

    private(set) var phase = BreakoutInfo.Phase.planned
    /// In the order of their numbers.
    private(set) var groups: [Group]
    var mayChoose: Bool
    /// By the ids of participants; without an entry a participant is in the room itself.
    private(set) var assigned: [String: GroupID] = [:]
    private(set) var endsAt: Instant?
    /// By the ids of moderators; none has the value of `Host()`.
    private(set) var hosts: [String: Host] = [:]

    init(_ plan: BreakoutPlan) throws(ConferenceError) {
        guard BreakoutPlan.allowedGroups.contains(plan.names.count) else {
            throw .badRequest(
                "groups: \(BreakoutPlan.allowedGroups.lowerBound) to \(BreakoutPlan.allowedGroups.upperBound)")
        }
        groups = []
        for (index, name) in plan.names.enumerated() {
            groups.append(Group(id: GroupID(index + 1), name: try Self.checked(name)))
        }
        mayChoose = plan.mayChoose
    }

    /// Goes on with groups that were open at another server.
    mutating func resume(endsAt: Instant?, isEnding: Bool) {
        self.endsAt = endsAt
        phase = isEnding && endsAt != nil ? .ending : .open
    }

    var isOpen: Bool { phase != .planned }
    func group(_ id: GroupID) -> Group? { groups.first { $0.id == id } }
    func host(_ id: String) -> Host { hosts[id] ?? Host() }

    private static func checked(_ name: String) throws(ConferenceError) -> String {
        guard let shown = Names.shown(name) else {
            throw .badRequest("the name of a group has 1 to \(Names.allowedLength.upperBound) characters")
        }
        return shown
    }

    private func index(_ id: GroupID) throws(ConferenceError) -> Int {
        guard let index = groups.firstIndex(where: { $0.id == id }) else {
            throw .badRequest("there is no group \(id.number): the groups are 1 to \(groups.count)")
        }
        return index
    }

    // MARK: - Groups

    mutating func rename(_ id: GroupID, _ name: String) throws(ConferenceError) {
        groups[try index(id)].name = try Self.checked(name)
    }

    mutating func setLayout(_ name: String, of id: GroupID, during presenting: Int?) {
        guard let index = groups.firstIndex(where: { $0.id == id }) else { return }
        (groups[index].layout, groups[index].layoutChosenDuring) = (name, presenting)
    }

    // MARK: - People

    /// Puts a participant into a group, or into the room itself (`main`).
    mutating func assign(_ participant: String, to id: GroupID) throws(ConferenceError) {
        if id != .main { _ = try index(id) }
        assigned[participant] = id == .main ? nil : id
    }

    /// Distributes those who are in no group, in a random order, so that the groups get equally large.
    mutating func fill(_ people: [String], using random: inout some RandomNumberGenerator) {
        var sizes = Dictionary(groups.map { ($0.id, 0) }) { first, _ in first }
        for id in assigned.values { sizes[id, default: 0] += 1 }
        for person in people.filter({ assigned[$0] == nil }).shuffled(using: &random) {
            let smallest = groups.map(\.id).min { (sizes[$0, default: 0], $0) < (sizes[$1, default: 0], $1) }
            guard let smallest else { return }
            assigned[person] = smallest
            sizes[smallest, default: 0] += 1
        }
    }

    /// Forgets those who do not come back.
    mutating func keep(only known: Set<String>) {
        assigned = assigned.filter { known.contains($0.key) }
        hosts = hosts.filter { known.contains($0.key) }
    }

    // MARK: - Hosts

    mutating func listen(_ id: String, to heard: Set<GroupID>, lookingInto seen: GroupID?) throws(ConferenceError) {
        for group in heard.union(seen.map { [$0] } ?? []) where group != .main { _ = try index(group) }
        change(id) { ($0.listensTo, $0.looksInto) = (heard, seen) }
    }

    mutating func speakToAll(_ id: String, _ isOn: Bool) { change(id) { $0.speaksToAll = isOn } }

    private mutating func change(_ id: String, _ body: (inout Host) -> Void) {
        var host = host(id)
        body(&host)
        hosts[id] = host == Host() ? nil : host
    }

    // MARK: - Time

    mutating func open(endingIn length: Duration?, at now: Instant) throws(ConferenceError) {
        if isOpen { throw .conflict("The groups are open already.") }
        phase = .open
        try setEnd(in: length, at: now)
    }

    /// Sets when everybody is back; nil: when a moderator calls them. The countdown begins again with a later end.
    mutating func setEnd(in length: Duration?, at now: Instant) throws(ConferenceError) {
        guard isOpen else { throw .conflict("The groups are not open yet.") }
        if let length, !BreakoutPlan.allowedLength.contains(length) {
            throw .badRequest(
                "endsIn: \(Int(BreakoutPlan.allowedLength.lowerBound.inSeconds)) to \(Int(BreakoutPlan.allowedLength.upperBound.inSeconds)) seconds"
            )
        }
        endsAt = length.map { now + $0 }
        phase = .open
        _ = advance(to: now)
    }

    /// Calls everybody back, at the latest in so much time.
    mutating func callBack(in countdown: Duration, at now: Instant) throws(ConferenceError) {
        guard isOpen else { throw .conflict("The groups are not open: nobody is to be called back.") }
        guard BreakoutPlan.allowedCountdown.contains(countdown) else {
            throw .badRequest("countdown: 0 to \(Int(BreakoutPlan.allowedCountdown.upperBound.inSeconds)) seconds")
        }
        endsAt = min(endsAt ?? now + countdown, now + countdown)
        phase = .ending
    }

    /// When `advance` has something to do.
    var nextDeadline: Instant? {
        switch phase {
        case .planned: nil
        case .open: endsAt.map { $0 - BreakoutPlan.countdown }
        case .ending: endsAt
        }
    }

    mutating func advance(to now: Instant) -> Turn {
        guard let endsAt else { return .nothing }
        if now >= endsAt { return .over }
        guard phase == .open, now >= endsAt - BreakoutPlan.countdown else { return .nothing }
        phase = .ending
        return .ending
    }
}
