import Basics
import Recording
import RoomMedia

extension Room {
    /// The group of a member: those whom it sees and hears, and who see and hear it. Viewers stay with the room itself;
    /// a viewer that stands for a participant goes along with that one.
    func place(of member: Member) -> GroupID {
        guard let breakout, breakout.isOpen else { return .main }
        if let other = member.asParticipant { return breakout.assigned[other] ?? .main }
        return member.effectiveRole == .viewer ? .main : breakout.assigned[member.id] ?? .main
    }
    func place(of id: String) -> GroupID { breakout == nil ? .main : member(id).map { place(of: $0) } ?? .main }

    /// The group whose picture a member gets.
    func watched(by member: Member) -> GroupID { host(standingFor: member)?.looksInto ?? place(of: member) }

    /// The groups that a member hears beside its own.
    func alsoHeard(by member: Member) -> Set<GroupID> { host(standingFor: member)?.listensTo ?? [] }

    /// Whether all groups hear a member.
    func isHeardEverywhere(_ member: Member) -> Bool { host(member.id)?.speaksToAll ?? false }

    /// The dominant speaker of the group that a member sees.
    func speaker(for member: Member) -> String? { speech[watched(by: member)]?.active }

    private func host(standingFor member: Member) -> Breakout.Host? { host(member.asParticipant ?? member.id) }

    /// What a moderator does with several groups; nil of all others, and while the groups are not open.
    private func host(_ id: String) -> Breakout.Host? {
        guard let breakout, breakout.isOpen, let host = breakout.hosts[id] else { return nil }
        return member(id)?.permits(.breakOut) == true ? host : nil
    }

    /// The recordings that show a member, or could.
    func recordings(of member: Member) -> [RecordingInfo] {
        let place = place(of: member).number
        return recordings.filter { ($0.group?.number ?? 0) == place }
    }

    /// Those that people are in beside the room itself.
    var openGroups: [GroupID] { breakout.flatMap { $0.isOpen ? $0.groups.map(\.id) : nil } ?? [] }

    func hasOpen(_ group: GroupID) -> Bool { breakout.map { $0.isOpen && $0.group(group) != nil } ?? false }

    /// Throws unless the breakout group is open.
    @discardableResult
    func requireOpen(_ id: GroupID) throws(ConferenceError) -> Breakout.Group {
        guard hasOpen(id), let group = breakout?.group(id) else {
            throw .conflict("Group \(id.number) is not open: open the groups first, or leave group out.")
        }
        return group
    }

    // MARK: - Requests

    /// Performs a request about breakout groups.
    ///
    /// - Parameters:
    ///   - id: the member who asks; nil: an administrator.
    ///   - limit: the most views in use in each group.
    mutating func breakOut(
        _ request: BreakoutRequest, by id: String?, limit: Int = .max, at now: Instant,
        using random: inout some RandomNumberGenerator
    ) throws(ConferenceError) {
        if let id {
            if case .choose = request {} else { try require(.breakOut, id) }
        }
        try changePlaces(limit: limit) { room throws(ConferenceError) in
            try room.perform(request, by: id, at: now, using: &random)
        }
    }

    private mutating func perform(
        _ request: BreakoutRequest, by id: String?, at now: Instant, using random: inout some RandomNumberGenerator
    ) throws(ConferenceError) {
        if case .make(let plan) = request {
            if breakout?.isOpen == true { throw .conflict("Groups are open: call everybody back first.") }
            breakout = try Breakout(plan)
            return
        }
        guard var groups = breakout else { throw .conflict("There are no groups: make some first.") }
        switch request {
        case .make: break
        case .rename(let number, let name): try groups.rename(GroupID(number), name)
        case .assign(let places):
            for (person, number) in places {
                try requireAssignable(person)
                try groups.assign(person, to: GroupID(number))
            }
        case .fill: groups.fill(members.filter { isFilled($0) }.map(\.id), using: &random)
        case .allowChoice(let mayChoose): groups.mayChoose = mayChoose
        case .open(let length): try groups.open(endingIn: length, at: now)
        case .setEnd(let length): try groups.setEnd(in: length, at: now)
        case .callBack(let countdown):
            try groups.callBack(in: countdown, at: now)
            if countdown == .zero { return breakout = nil }
        case .close: return breakout = nil
        case .listen(let heard, let seen):
            guard let id else { throw .badRequest("listen: only a participant can") }
            try groups.listen(id, to: Set(heard.map { GroupID($0) }), lookingInto: seen.map { GroupID($0) })
        case .speakToAll(let isOn):
            guard let id else { throw .badRequest("speakToAll: only a participant can") }
            groups.speakToAll(id, isOn)
        case .choose(let number):
            guard let id else { throw .badRequest("choose: only a participant can") }
            try requireChoice(of: number, by: id)
            try groups.assign(id, to: GroupID(number))
        }
        breakout = groups
    }

    /// The groups go on without an end where all moderators have left for good: then everybody may go back.
    private var mayGoBack: Bool { !members.contains { $0.permits(.breakOut) } }

    private func mayChoose(_ number: Int, _ member: Member) -> Bool {
        member.permits(.breakOut) || breakout?.mayChoose == true || number == 0 && mayGoBack
    }

    private func requireChoice(of number: Int, by id: String) throws(ConferenceError) {
        guard let member = member(id) else { throw .participantNotFound(id) }
        guard mayChoose(number, member) else {
            throw .forbidden("The moderators of this room decide who is in which group.")
        }
        if member.effectiveRole == .viewer {
            throw .forbidden("Viewers may not choose a group: they stay in the room.")
        }
    }

    private func requireAssignable(_ id: String) throws(ConferenceError) {
        guard let member = member(id) else { throw .participantNotFound(id) }
        guard member.effectiveRole != .viewer else {
            throw .conflict(
                "“\(member.name)” is a viewer, which stays in the room: make a participant of it first.")
        }
    }

    /// Whether `fill` puts a member into a group.
    private func isFilled(_ member: Member) -> Bool {
        member.kind == .participant && member.effectiveRole != .viewer && !member.permits(.breakOut)
    }

    /// Begins the countdown, or brings everybody back, where it is time.
    mutating func advanceBreakout(to now: Instant, limit: Int = .max) {
        guard var groups = breakout else { return }
        switch groups.advance(to: now) {
        case .nothing: return
        case .ending: breakout = groups
        case .over: try? changePlaces(limit: limit) { room throws(ConferenceError) in room.breakout = nil }
        }
    }

    // MARK: - What people are told

    /// The groups with those of them who are in the meeting; nil: there are none.
    func breakoutInfo(at now: Instant) -> BreakoutInfo? {
        guard let breakout else { return nil }
        var people: [GroupID: [String]] = [:]
        for member in members where member.effectiveRole != .viewer {
            if let group = breakout.assigned[member.id] { people[group, default: []].append(member.id) }
        }
        let hosts = members.filter { host($0.id) != nil }
        let groups = breakout.groups.map { group in
            BreakoutInfo.Group(
                number: group.id.number, name: group.name, participants: people[group.id] ?? [],
                listeners: hosts.filter { alsoHeard(by: $0).contains(group.id) || watched(by: $0) == group.id }
                    .filter { place(of: $0) != group.id }.map(\.id),
                recording: recordings.filter { $0.group?.number == group.id.number }.shown?.id)
        }
        return BreakoutInfo(
            phase: breakout.phase, groups: groups, mayChoose: breakout.mayChoose,
            endsIn: breakout.endsAt.map { max(.zero, $0 - now) }, speakers: hosts.filter(isHeardEverywhere).map(\.id))
    }

    /// What a member is told.
    ///
    /// - Parameter info: `breakoutInfo`.
    func breakoutNotice(for member: Member, _ info: BreakoutInfo?) -> BreakoutNotice {
        let isHost = member.permits(.breakOut)
        guard let breakout, let info else { return BreakoutNotice(info: nil, isHost: isHost) }
        var notice = BreakoutNotice(info: info, isHost: isHost)
        notice.own = breakout.assigned[member.id]?.number ?? 0
        notice.mayMove = mayChoose(0, member)
        if !isHost {
            for index in info.groups.indices where info.groups[index].number != notice.own {
                notice.info?.groups[index].listeners = []
            }
        }
        guard isHost, let host = breakout.hosts[member.id] else { return notice }
        (notice.listensTo, notice.speaksToAll) = (host.listensTo.map(\.number).sorted(), host.speaksToAll)
        notice.looksInto = host.looksInto?.number
        return notice
    }
}
