import Basics
import Codecs
import FoundationEssentials
import RoomMedia

/// The members and settings of a room, and the rules of what members may do: a value without threads, media or clocks.
struct Room: Sendable {
    /// How long a participant keeps its seat after its signalling was lost.
    static let seatRetention = Duration.seconds(15)
    /// How long a participant without signalling keeps its seat after its media connection was lost.
    static let silenceLimit = Duration.seconds(30)

    let id: String
    var settings: RoomSettings
    let createdAt: Date
    private(set) var members: [Member] = []
    /// Who speaks, of each group.
    private(set) var speech: [GroupID: Speakers] = [:]
    /// The dominant speaker of those who are in no group.
    var speaker: String? { speech[.main]?.active }
    /// nil: there are no breakout groups.
    var breakout: Breakout?
    private(set) var emptySince: Instant?
    private(set) var waiting = WaitingList()
    /// Those that run or are paused, in the order of their starts.
    var recordings: [RecordingInfo] = []
    /// Whether the room is streamed to another server.
    var isSentOn = false
    /// Whether others outside of the room may see and hear it now.
    var isStreamed: Bool { isSentOn || settings.hls }
    private var joins = 0
    private var presentings = PresentingCounts()
    /// The number of the presenting during which the room's layout was chosen; nil: nobody presented.
    var layoutChosenDuring: Int? { presentings.layoutChosenDuring }
    /// Set by `RoomService`, which knows the layouts.
    var layoutsWithPresentingRules: Set<String> = []
    /// Names the meeting in tickets.
    var meetingID = RandomToken.make(16)
    /// Somebody was removed from the meeting (`Removals`).
    private(set) var hadRemoval = false
    /// Whether the seats of members that are gone are kept for their tickets.
    var keepsSeats = false
    private(set) var absent = AbsentSeats()
    /// The server is too busy to make a picture for each of two people.
    var isSparing = false
    /// The keys of the hosts.
    private(set) var hosts = Hosts()
    private(set) var links = GuestLinks()
    /// See `ConferenceConfiguration.Rooms.hostAbsence`.
    var hostAbsence = ConferenceConfiguration.Rooms().hostAbsence
    /// The room is moving to another server, and ends here at this time at the latest.
    var movingUntil: Instant?

    init(id: String, settings: RoomSettings, createdAt: Date, at now: Instant) {
        self.id = id
        self.settings = settings
        self.createdAt = createdAt
        emptySince = now
    }

    /// A room as it comes from another server, before anyone is back.
    ///
    /// - Parameters:
    ///   - age: of the state.
    ///   - limit: until when everyone is expected back.
    init(
        _ state: RoomState, age: Duration = .zero, settings: RoomSettings, expectedUntil limit: Instant, at now: Instant
    ) {
        self.init(id: state.room, settings: settings, createdAt: state.createdAt, at: now)
        meetingID = state.meeting
        keepsSeats = true
        absent = AbsentSeats(state, until: limit)
        breakout = state.breakout.flatMap { Breakout($0, age: age, at: now) }
        joins = absent.seats.count
        (hosts, links) = (Hosts(state.hosts), GuestLinks(state.links))
    }

    func member(_ id: String) -> Member? { members.first { $0.id == id } }
    var infos: [ParticipantInfo] { members.map { info($0) } }
    func info(_ member: Member) -> ParticipantInfo {
        var info = member.info
        info.group = place(of: member).number
        info.speaking = isSpeaking(member)
        return info
    }

    private func index(_ id: String) throws(ConferenceError) -> Int {
        guard let index = members.firstIndex(where: { $0.id == id }) else { throw .participantNotFound(id) }
        return index
    }

    // MARK: - Coming and going

    mutating func join(_ request: AdmittedJoin, id: String, secret: String, at now: Instant) throws(ConferenceError)
        -> Member
    {
        if movingUntil != nil { throw .moving(self.id) }
        if let ticket = request.ticket { return try rejoin(ticket, request, secret: secret, at: now) }
        if request.kind != .input {
            try checkAdmission(request)
            if mustWait(request) { throw .mustWait(self.id) }
        }
        try checkPlace(isViewer: request.kind == .viewer || request.role == .viewer)
        if let other = request.asParticipant, member(other) == nil { throw .participantNotFound(other) }
        if let view = request.view { try requireView(view) }
        if let admission = request.admission { waiting.joined(admission) }
        var member = Member(
            id: id, resumeSecret: secret, name: Names.shown(request.name) ?? "Guest", role: role(of: request),
            kind: request.kind,
            asParticipant: request.asParticipant, joinOrder: joins, mediaLostAt: now,
            hasSignalling: request.hasSignalling,
            endsWithMedia: request.endsWithMedia, roleIsProven: request.roleIsProven, isNative: request.isNative)
        member.externalID = request.client.identity
        member.unrecordedBy = request.unrecordedBy
        member.avatarName = request.avatar
        member.mayHost = request.mayHost
        member.drawsSigns = request.drawsSigns
        member.policy = settings.policy
        // Who is in the audience is to speak when it is brought on stage.
        if request.kind == .participant, member.isShown, member.role != .moderator {
            member.entersMuted = settings.policy.muteOnEntry
            if member.entersMuted || !member.permits(.unmute) { member.audioOn = false }
        }
        joins += 1
        members.append(member)
        settleHost(members.count - 1, by: hosts.key(request.hostKey), at: now)
        noteEmptiness(at: now)
        return members[members.count - 1]
    }

    // MARK: - Hosts

    /// The role with which a client joins. A room without tokens believes no claimed role but `viewer`; holders of its
    /// keys are moderators, and where it has none, so is the first participant with native signalling.
    private func role(of request: AdmittedJoin) -> Role {
        if request.role == .viewer { return .viewer }
        if isHolder(request) { return .moderator }
        if request.roleIsProven { return request.role }
        let isFirst = request.isNative && request.mayHost && request.kind == .participant && !hasModerator
        return isFirst && hosts.isEmpty ? .moderator : .participant
    }

    private func isHolder(_ request: AdmittedJoin) -> Bool {
        request.isNative && request.kind == .participant && hosts.key(request.hostKey) != nil
    }

    private var hasModerator: Bool {
        absent.expectsModerator || members.contains { $0.effectiveRole == .moderator }
    }

    /// Gives a member that is new here, or is a moderator now, what belongs to its role: a host its key.
    ///
    /// - Parameter known: the key that it came with; nil: none.
    private mutating func settleHost(_ index: Int, by known: HostKey?, at now: Instant) {
        guard members[index].effectiveRole == .moderator else {
            if !hasModerator, !hosts.isEmpty { hosts.wait(until: (emptySince ?? now) + Hosts.keep) }
            return
        }
        members[index].hostKey = known ?? (members[index].roleIsProven || !hosts.isEmpty ? nil : hosts.make())
        if members[index].hostKey != nil { hostIsBack() }
    }

    /// Ends what was for the absence of the hosts: who acted as the moderator is a participant again.
    private mutating func hostIsBack() {
        hosts.endWait()
        for index in members.indices where isActing(members[index]) { members[index].role = .participant }
    }

    /// Whether a member is the moderator in the absence of the hosts.
    private func isActing(_ member: Member) -> Bool {
        member.role == .moderator && !member.roleIsProven && !hosts.isEmpty && !hosts.holds(member.hostKey)
    }

    /// Gives a room without tokens a moderator where it has lost its last one: the member that is there longest, before
    /// those whose signalling is lost just now. While there are keys it acts, without one.
    ///
    /// - Parameter id: the member that is not to be chosen.
    private mutating func appointModerator(except id: String? = nil) {
        if hasModerator || hosts.areGiven { return }
        let heirs = members.indices.filter { members[$0].canInherit && members[$0].id != id }
        guard let heir = heirs.first(where: { members[$0].signallingLostAt == nil }) ?? heirs.first else { return }
        members[heir].role = .moderator
        if hosts.isEmpty { members[heir].hostKey = hosts.make() }
        hosts.endWait()
    }

    /// The same once the hosts had the time to come back.
    private mutating func awaitHosts(at now: Instant) {
        if hosts.isEmpty { return appointModerator() }
        if !hasModerator { hosts.wait(until: now + hostAbsence) }
    }

    /// Whether the room has waited for its hosts long enough, or keeps keys whose time is over.
    func hostsAreDue(at now: Instant) -> Bool { hosts.isWaitOver(at: now) || keysAreOver(at: now) }

    private func keysAreOver(at now: Instant) -> Bool {
        !hosts.isEmpty && !hosts.areGiven && isAbandoned(after: Hosts.keep, at: now)
    }

    /// Does what `hostsAreDue` says.
    mutating func endAwaitingHosts(at now: Instant) {
        if keysAreOver(at: now) { hosts = Hosts() }
        guard hosts.isWaitOver(at: now) else { return }
        hosts.endWait()
        appointModerator()
    }

    /// Takes the API's key in place of all others; nil: there is none any more.
    mutating func give(_ key: HostKey?) { hosts.give(key) }

    /// Takes the keys and links of an earlier room of this name.
    mutating func take(_ kept: KeptRoom) { (hosts, links) = (kept.hosts, kept.links) }

    /// What the next room of this name takes over.
    var kept: KeptRoom { KeptRoom(hosts: hosts.lasting, links: links) }

    /// Notes that a member that leaves may be back at once.
    mutating func mayReturn(_ id: String) throws(ConferenceError) { members[try index(id)].mayReturn = true }

    /// Removes a member. Returns whether there was one.
    ///
    /// - Parameter reason: of a moderator: the others wait for one that is lost, and go on without one that has left.
    @discardableResult
    mutating func leave(_ id: String, _ reason: LeaveReason = .left, at now: Instant) -> Bool {
        guard let index = members.firstIndex(where: { $0.id == id }) else { return false }
        let member = members.remove(at: index)
        forgetSpeech(of: id)
        if breakout != nil {
            let known = Set(members.map(\.id)).union(absent.seats.map(\.id))
            breakout?.keep(only: known)
        }
        for index in members.indices { members[index].choice?.pins.removeAll { $0 == id } }
        let hasGone = (reason == .left || reason == .removed) && !member.mayReturn
        if member.role != .moderator {
            // The room waits, or has a moderator.
        } else if hasGone {
            appointModerator()
        } else {
            awaitHosts(at: now)
        }
        noteEmptiness(at: now)
        return true
    }

    // MARK: - Guest links

    /// - Parameter member: who asks; nil: an administrator.
    func requireInviting(_ member: String?) throws(ConferenceError) { if let member { try require(.invite, member) } }

    mutating func makeLink(_ wish: GuestLinkRequest, at now: Date) throws(ConferenceError) -> GuestLink {
        try links.make(wish, at: now)
    }

    mutating func revokeLink(_ id: String, at now: Date) throws(ConferenceError) { try links.revoke(id, at: now) }

    /// The request of a guest with what the guest's link gives.
    func admitted(_ request: AdmittedJoin, at now: Date) throws(ConferenceError) -> AdmittedJoin {
        guard let pass = request.guestPass, request.ticket == nil else { return request }
        let link = try links.link(for: pass, request.visit, isPresent: isPresent, at: now)
        return request.invited(as: link.role)
    }

    /// Counts a guest who is in.
    mutating func useLink(of request: AdmittedJoin, by id: String) throws(ConferenceError) {
        guard let pass = request.guestPass, request.ticket == nil else { return }
        let present = Set(members.compactMap(\.visit))
        members[try index(id)].visit = links.use(pass, request.visit) { present.contains($0) }
    }

    private func isPresent(_ visit: String) -> Bool { members.contains { $0.visit == visit } }

    // MARK: - Tickets

    /// Throws unless a verified ticket is good for this room now.
    func require(_ ticket: SeatTicket, at now: Date) throws(ConferenceError) {
        if movingUntil != nil { throw .moving(id) }
        let isKnown = member(ticket.id) != nil || absent.seat(ticket.id) != nil
        guard ticket.room == id, ticket.meeting == meetingID, !absent.isGone(ticket.id),
            ticket.isGood(isKnown: isKnown, at: now)
        else { throw .unauthorized("This seat is not kept any more: join anew.") }
    }

    /// Gives the holder of a ticket, which `require` has accepted, its seat, as the room remembers it. PIN, lock and
    /// waiting are not for who was in the room already.
    private mutating func rejoin(
        _ ticket: SeatTicket, _ request: AdmittedJoin, secret: String, at now: Instant
    ) throws(ConferenceError) -> Member {
        let wasExpected = absent.expected.contains(ticket.id)
        if absent.seat(ticket.id) == nil { try checkPlace(isViewer: ticket.role == .viewer) }
        let seat = absent.take(ticket.id)
        var role = seat?.role ?? ticket.role
        let isProven = seat?.isProven ?? ticket.roleIsProven
        let key = seat?.hostKey.flatMap { HostKey(digest: $0) }.flatMap { hosts.holds($0) ? $0 : nil }
        if role == .moderator, !isProven, key == nil {
            // Who acted before acts on, unless somebody else is the moderator meanwhile.
            let hasHost = members.contains { $0.role == .moderator && !isActing($0) }
            if wasExpected ? hasHost : hasModerator || !hosts.isEmpty { role = .participant }
        }
        var order = joins
        if let old = seat?.order, !members.contains(where: { $0.joinOrder == old }) { order = old }
        joins = max(joins, order + 1)
        var member = Member(
            id: ticket.id, resumeSecret: secret, name: seat?.name ?? Names.shown(ticket.name) ?? "Guest", role: role,
            kind: request.kind, asParticipant: nil, joinOrder: order, mediaLostAt: now,
            hasSignalling: request.hasSignalling, endsWithMedia: request.endsWithMedia, roleIsProven: isProven,
            isNative: ticket.isNative)
        member.unrecordedBy = request.unrecordedBy
        member.isBack = true
        member.policy = settings.policy
        if let seat { member.restore(seat) }
        let place = members.firstIndex { $0.joinOrder > order } ?? members.endIndex
        members.insert(member, at: place)
        settleHost(place, by: key, at: now)
        noteEmptiness(at: now)
        return members[place]
    }

    /// Takes a seat back whose signalling was lost, for a client that has shown its secret or its ticket.
    mutating func takeBack(_ id: String) throws(ConferenceError) { members[try index(id)].signallingLostAt = nil }

    mutating func setSecret(_ secret: String, of id: String) throws(ConferenceError) {
        members[try index(id)].resumeSecret = secret
    }

    /// Decides what the ticket of a member is worth that leaves now.
    mutating func noteAbsence(of id: String, _ reason: LeaveReason) {
        if reason == .removed {
            hadRemoval = true
            hosts.void(member(id)?.hostKey)
        }
        guard keepsSeats, let member = member(id), member.isNative, !member.isInput else { return }
        switch reason {
        case .timeout, .failed, .moved, .draining, .replaced: absent.keep(RoomState.Seat(member))
        case .left, .removed, .roomEnded, .overBudget: absent.void(id)
        }
    }

    /// Expects nobody any more who has not come back with the room. Returns their ids.
    mutating func endExpecting(at now: Instant) -> Set<String> {
        let missing = absent.endExpecting()
        awaitHosts(at: now)
        return missing
    }

    /// Forgets who was in the meeting that is over.
    mutating func forgetSeats() {
        absent.clear()
        breakout = nil
        hadRemoval = false
        meetingID = RandomToken.make(16)
    }

    /// Whether a member is the first of its meeting, and alone: not where the meeting has begun at another server.
    func isFirst(_ id: String) -> Bool {
        guard let member = member(id), !member.isBack, absent.expected.isEmpty else { return false }
        return members.count { !$0.isInput } == 1
    }

    /// Whether somebody is in the room: an input is nobody.
    var hasPeople: Bool { members.contains { !$0.isInput } }
    /// Whether nobody is in the room or waits for it.
    var isEmpty: Bool { !hasPeople && waiting.isEmpty }
    private mutating func noteEmptiness(at now: Instant) { emptySince = isEmpty ? emptySince ?? now : nil }

    // MARK: - Admission

    /// Whether a moderator has let the client in, or it is one by its token or its key: PIN and lock are not for these.
    private func passes(_ request: AdmittedJoin) -> Bool {
        request.roleIsProven && request.role == .moderator || isHolder(request)
            || request.admission.map(waiting.isAdmitted) ?? false
    }

    /// Throws where the PIN is not given or the room is locked. The PIN comes first: who does not know it learns nothing
    /// else.
    private func checkAdmission(_ request: AdmittedJoin) throws(ConferenceError) {
        if passes(request) { return }
        if let pin = settings.pin, !request.isInvited {
            guard let given = request.pin, !given.isEmpty else { throw .pinRequired(id) }
            guard pin.matches(given) else { throw .wrongPIN(id) }
        }
        if settings.locked { throw .roomLocked(id) }
    }

    /// Throws where a client may not watch the room from outside, by the rules for joins.
    ///
    /// - Parameter isNew: whether it begins now; a lock is for those only.
    func requireWatching(_ request: AdmittedJoin, isNew: Bool) throws(ConferenceError) {
        do throws(ConferenceError) {
            try checkAdmission(request)
        } catch {
            guard case .roomLocked = error, !isNew else { throw error }
        }
        if mustWait(request) { throw .mustWait(id) }
    }

    private func mustWait(_ request: AdmittedJoin) -> Bool {
        // Whatever its role: a moderator too was removed by another one.
        if request.wasRemoved { return !(request.admission.map(waiting.isAdmitted) ?? false) }
        return settings.admit == .moderator && !passes(request) && role(of: request) != .moderator
    }

    private func checkPlace(isViewer: Bool) throws(ConferenceError) {
        let viewers = members.count { $0.effectiveRole == .viewer }
        let isFull =
            isViewer ? viewers >= settings.maxViewers : members.count - viewers >= settings.maxParticipants
        if isFull { throw .roomFull(id) }
    }

    /// Begins the wait of a client that has to be let in.
    mutating func wait(_ request: AdmittedJoin, id: String, at now: Instant) throws(ConferenceError) -> WaitingStart {
        try checkAdmission(request)
        guard mustWait(request) else {
            waiting.admitAtOnce(id, at: now)
            return .mayJoin
        }
        let person = WaitingPerson(
            id: id, name: Names.shown(request.name) ?? "Guest", wasRemoved: request.wasRemoved)
        let displaced = try waiting.add(person, from: request.client.address, at: now)
        noteEmptiness(at: now)
        return .waits(displaced: displaced)
    }

    /// Refuses all who wait at the address of one of them. Returns their ids.
    mutating func refuseAddress(of id: String, at now: Instant) throws(ConferenceError) -> [String] {
        guard waiting.people.contains(where: { $0.id == id }) else { throw .participantNotFound(id) }
        defer { noteEmptiness(at: now) }
        return waiting.refuseSite(of: id, at: now)
    }

    /// Lets in one who waits, or everyone. Returns their ids.
    mutating func admit(_ id: String?, at now: Instant) -> [String] {
        defer { noteEmptiness(at: now) }
        return waiting.admit(id, at: now)
    }

    /// Ends a wait, or everyone's. Returns their ids.
    mutating func endWaits(_ id: String?, at now: Instant) -> [String] {
        defer { noteEmptiness(at: now) }
        return waiting.remove(id, at: now)
    }

    /// Ends the waits that took too long. Returns their ids.
    mutating func expireWaits(at now: Instant) -> [String] {
        defer { noteEmptiness(at: now) }
        return waiting.expire(at: now)
    }

    /// Throws unless this is the secret that the member got when it joined.
    func requireSecret(_ secret: String, of id: String) throws(ConferenceError) {
        guard let member = member(id), !secret.isEmpty, member.resumeSecret == secret else {
            throw .unauthorized("This seat is not kept any more: join anew.")
        }
    }

    mutating func signallingLost(_ id: String, at now: Instant) {
        guard let index = members.firstIndex(where: { $0.id == id }) else { return }
        members[index].signallingLostAt = members[index].signallingLostAt ?? now
    }

    mutating func media(_ id: String, isConnected: Bool, at now: Instant) {
        guard let index = members.firstIndex(where: { $0.id == id }), members[index].isConnected != isConnected else {
            return
        }
        members[index].isConnected = isConnected
        members[index].wasConnected = true
        members[index].mediaLostAt = isConnected ? nil : now
    }

    /// What a member says to send and the server does not get.
    mutating func setMissing(_ kinds: MediaKinds, of id: String) {
        guard let index = members.firstIndex(where: { $0.id == id }) else { return }
        members[index].notReceived = kinds
    }

    /// The members whose seats have expired.
    ///
    /// - Parameter limit: how long a seat stays without a media connection.
    func expired(at now: Instant, withoutMedia limit: Duration = ConferenceConfiguration.Limits().seatWithoutMedia)
        -> [String]
    {
        members.filter { member in
            if let lost = member.signallingLostAt, now - lost >= Room.seatRetention { return true }
            guard !member.isInput, let silent = member.mediaLostAt, now - silent >= Room.silenceLimit else {
                return false
            }
            if now - silent >= limit { return true }
            return member.signallingLostAt != nil || !member.hasSignalling || member.endsWithMedia
        }.map(\.id)
    }

    /// Whether the room has been empty for `timeout` or longer.
    func isAbandoned(after timeout: Duration, at now: Instant) -> Bool {
        emptySince.map { now - $0 >= timeout } ?? false
    }

    // MARK: - Requests of members

    /// Throws unless the member may do this now.
    ///
    /// - Parameter isOwn: what the action concerns was started by the member itself.
    func require(_ action: RoomAction, _ id: String, isOwn: Bool = false) throws(ConferenceError) {
        let member = members[try index(id)]
        let isAllowed =
            switch action.rule(for: member.effectiveRole) {
            case .yes: true
            case .no: false
            case .openRooms: isOwn || !member.roleIsProven
            case .unlessLocked: !settings.layoutLocked
            case .whereAllowed: settings.policy.allows(action)
            }
        if !isAllowed { throw action.refusal(for: member.effectiveRole) }
    }

    /// Takes over the switches of a member's client. Returns why its audio stays off; nil: it is as the client says.
    @discardableResult
    mutating func setState(
        _ id: String, audio: Bool?, video: Bool?, hand: Bool?
    ) throws(ConferenceError) -> MuteReason? {
        if hand == true { try require(.raiseHand, id) }
        let index = try index(id)
        if let video { members[index].videoOn = video }
        if hand == true, !members[index].hand {
            members[index].handOrder = (members.filter(\.hand).map(\.handOrder).max() ?? 0) + 1
        }
        if let hand { members[index].hand = hand }
        guard let audio else { return nil }
        if !audio { members[index].entersMuted = false }
        if audio, !members[index].audioOn {
            if !members[index].isAskedToUnmute, members[index].isShown, !members[index].permits(.unmute) {
                return .policy
            }
            if members[index].entersMuted { return .entry }
        }
        members[index].audioOn = audio
        return nil
    }

    /// Begins or ends the presenting of a member.
    ///
    /// - Parameter audio: whether its audio section carries the sound of the screen too.
    mutating func present(_ id: String, _ on: Bool, audio: Bool = false) throws(ConferenceError) {
        let index = try index(id)
        guard on else { return members[index].stopPresenting() }
        if members[index].screenPeer != nil {
            throw .conflict("You present already, by WHIP: end that first.")
        }
        try beginPresenting(id)
        members[index].presentsAudio = audio
    }

    /// Begins the presenting of a member, which presents already or not.
    mutating func beginPresenting(_ id: String) throws(ConferenceError) {
        try require(.present, id)
        let index = try index(id)
        if !isPresented(in: place(of: members[index])) { presentings.begin(in: place(of: members[index])) }
        if !members[index].isPresenting {
            members[index].presentOrder = presentings.nextOrder()
        }
        members[index].isPresenting = true
    }

    /// Changes one member by `body`, or throws and changes none.
    mutating func change(
        _ id: String, _ body: (inout Member) throws(ConferenceError) -> Void
    ) throws(ConferenceError) {
        let index = try index(id)
        var member = members[index]
        try body(&member)
        members[index] = member
    }

    /// Sets the layout of the room.
    ///
    /// - Parameter pins: the pinned members; nil: as they are.
    mutating func setLayout(_ name: String, pins: [String]?, by id: String) throws(ConferenceError) {
        try require(.changeLayout, id)
        if pins != nil { try require(.pinForAll, id) }
        let place = place(of: members[try index(id)])
        setLayout(name, in: place, by: id)
        if let pins {
            for index in members.indices where self.place(of: members[index]) == place {
                members[index].pinOrder = pins.firstIndex(of: members[index].id)
            }
        }
    }

    private mutating func setLayout(_ name: String, in group: GroupID = .main, by id: String? = nil) {
        presentings.choose(by: id)
        if group != .main {
            let presenting = presenting(in: group)
            breakout?.setLayout(name, of: group, during: presenting)
            return
        }
        settings.layout = name
        presentings.choose(during: presenting(in: .main))
    }

    /// The number of the presenting in a group; nil: nobody presents.
    func presenting(in group: GroupID) -> Int? { isPresented(in: group) ? presentings.number(in: group) : nil }

    /// Gives a member another named view; its own choice stays on top.
    ///
    /// - Parameter limit: the most views in use beside `main` and the recorded one. A request for one more throws, and
    ///   the member keeps its view.
    mutating func show(_ name: String, to id: String, limit: Int = .max) throws(ConferenceError) {
        let index = try index(id)
        try requireView(name)
        var member = members[index]
        member.viewName = name
        try requireRoom(for: member, limit)
        members[index] = member
    }

    /// Gives a member its own choice on top of its named view, or ends it. `limit` as for `show`.
    mutating func choose(_ choice: ViewChoice?, by id: String, limit: Int = .max) throws(ConferenceError) {
        let index = try index(id)
        var member = members[index]
        member.choice = choice
        member.choiceMadeDuring = presenting(in: watched(by: member))
        try requireRoom(for: member, limit)
        members[index] = member
    }

    private func requireRoom(for member: Member, _ limit: Int) throws(ConferenceError) {
        let pictures = pictures
        let wanted = pictures.view(of: member).withEveryone
        // Each group may have as many as a room of its own.
        let free = [ViewID.main.name, settings.recordedView.name].map { ViewID($0, group: wanted.group) }
        let others = members.filter { $0.id != member.id }
        let used = Set(others.map { pictures.view(of: $0).withEveryone })
            .filter { $0.group == wanted.group }.subtracting(free)
        if free.contains(wanted) || used.contains(wanted) || used.count < limit { return }
        throw .atCapacity(
            "The room shows \(limit) pictures beside the one for all, which is all that it may: take one of those, or the room's.",
            retryAfter: .seconds(30))
    }

    /// Takes over what the member's connection has negotiated.
    mutating func negotiated(_ id: String, hasScreenSection: Bool) {
        guard let index = members.firstIndex(where: { $0.id == id }) else { return }
        members[index].hasScreenSection = hasScreenSection
    }

    // MARK: - Moderation

    /// Performs what a member asks about others. Returns the events for those whom it concerns.
    mutating func moderate(
        _ moderation: Moderation, by id: String
    ) throws(ConferenceError) -> [(id: String, event: ParticipantEvent)] {
        try require(moderation.action, id)
        switch moderation {
        case .mute(let other): return try mute([index(other)], by: id)
        case .muteAll:
            let place = place(of: id)
            return mute(members.indices.filter { members[$0].id != id && self.place(of: members[$0]) == place }, by: id)
        case .askToUnmute(let other):
            let index = try index(other)
            members[index].isAskedToUnmute = true
            if members[index].isNative { return [(other, .asked(.unmute, by: id))] }
            members[index].audioOn = true
        case .stopScreen(let other):
            let index = try index(other)
            guard members[index].isPresenting else { return [] }
            // Without a picture beside it the section of the camera carries the screen, until the client switches its
            // camera on again.
            if !members[index].sendsScreenBeside { members[index].videoOn = false }
            members[index].stopPresenting()
            return [(other, .asked(.stopScreen, by: id))]
        case .stopVideo(let other):
            let index = try index(other)
            guard members[index].videoOn, members[index].isShown else { return [] }
            members[index].videoOn = false
            return [(other, .asked(.stopVideo, by: id))]
        case .askForVideo(let other):
            let index = try index(other)
            if members[index].isNative { return [(other, .asked(.video, by: id))] }
            members[index].videoOn = true
        case .setVolume(let other, let volume):
            var change = ParticipantChange()
            change.volume = volume
            try self.change(other, change)
        case .setRecorded(let other, let isRecorded): try setRecorded(other, isRecorded, by: .host)
        case .lowerHand(let other): members[try index(other)].hand = false
        case .lowerHands:
            let place = place(of: id)
            for index in members.indices where self.place(of: members[index]) == place { members[index].hand = false }
        case .changeRole(let other, let role): try changeRole(other, to: role, by: id)
        case .stage(let other):
            guard members[try index(other)].effectiveRole == .viewer else { return [] }
            try changeRole(other, to: .participant, by: id)
        case .audience(let other): try changeRole(other, to: .viewer, by: id)
        case .remove(let other): _ = try index(other)
        case .admit, .refuse, .refuseAddress, .end: break
        }
        return []
    }

    private mutating func mute(_ indices: [Int], by id: String) -> [(id: String, event: ParticipantEvent)] {
        indices.filter { members[$0].audioOn && members[$0].isShown }.map { index in
            (members[index].audioOn, members[index].isAskedToUnmute) = (false, false)
            return (members[index].id, .muted(by: id))
        }
    }

    /// Changes a role for a moderator, who may not leave the room without one.
    private mutating func changeRole(_ id: String, to role: Role, by host: String) throws(ConferenceError) {
        let index = try index(id)
        let givesKey = member(host).map { !isActing($0) } ?? false
        guard members[index].kind != .viewer else {
            throw .conflict("“\(members[index].name)” receives only, and cannot have another role.")
        }
        if role == .moderator, !members[index].isNative {
            throw .conflict("The client of “\(members[index].name)” has no way to moderate.")
        }
        let moderators = members.filter { $0.effectiveRole == .moderator }
        if role != .moderator, moderators.map(\.id) == [id] {
            throw .conflict("You are the only moderator: make somebody else one first.")
        }
        let wasViewer = members[index].role == .viewer
        if wasViewer != (role == .viewer) { try checkPlace(isViewer: role == .viewer) }
        var change = ParticipantChange()
        change.role = role
        try self.change(id, change, givesKey: givesKey)
    }

    /// - Parameter givesKey: whether a new moderator gets a key of its own: not from one who acts.
    @discardableResult
    mutating func change(
        _ id: String, _ change: ParticipantChange, givesKey: Bool = true
    ) throws(ConferenceError) -> ParticipantInfo {
        let index = try index(id)
        let change = try change.checked()
        if let value = change.recorded { try setRecorded(id, value, by: .host) }
        if let value = change.audioMuted { members[index].audioMuted = value }
        if let value = change.videoMuted { members[index].videoMuted = value }
        if let value = change.pinned, value != members[index].isPinned {
            members[index].pinOrder = value ? (members.compactMap(\.pinOrder).max() ?? -1) + 1 : nil
        }
        if let value = change.role {
            let old = members[index].role
            members[index].role = value
            if value == .viewer { members[index].stopPresenting() }
            // Who comes on stage has got what the hand was raised for.
            if old == .viewer, value != .viewer {
                members[index].hand = false
                // Who is brought on stage is to speak.
                members[index].isAskedToUnmute = true
            }
            if old == .moderator, value != .moderator {
                hosts.void(members[index].hostKey)
                members[index].hostKey = nil
                appointModerator(except: id)
            } else if members[index].effectiveRole == .moderator, givesKey, members[index].isNative {
                members[index].hostKey = members[index].hostKey ?? hosts.make()
                if members[index].hostKey != nil { hostIsBack() }
            }
        }
        if let value = change.volume { members[index].volume = value }
        if let value = change.name { members[index].name = value }
        return info(members[index])
    }

    mutating func change(_ change: RoomSettingsChange) throws(ConferenceError) {
        try settings.apply(change)
        if let layout = change.layout { setLayout(layout) }
        for index in members.indices { members[index].policy = settings.policy }
        if let key = change.hostKey { hosts.give(HostKey(key)) }
    }

    mutating func setAvatar(_ picture: StillImage?, of id: String) throws(ConferenceError) {
        members[try index(id)].avatar = picture
    }

    // MARK: - Speakers

    /// Takes over who speaks in a group. Who has left it meanwhile does not count.
    mutating func speakers(_ heard: Speakers, in group: GroupID = .main) {
        let present = Set(members.filter { place(of: $0) == group }.map(\.id))
        speech[group] = Speakers(
            active: heard.active.flatMap { present.contains($0) ? $0 : nil },
            ranks: heard.ranks.filter(present.contains), speaking: heard.speaking.intersection(present),
            loudest: heard.loudest.filter(present.contains))
    }

    func isSpeaking(_ member: Member) -> Bool { speech[place(of: member)]?.speaking.contains(member.id) ?? false }

    private mutating func forgetSpeech(of id: String) {
        for (group, heard) in speech {
            speech[group] = Speakers(
                active: heard.active == id ? nil : heard.active, ranks: heard.ranks.filter { $0 != id },
                speaking: heard.speaking.subtracting([id]), loudest: heard.loudest.filter { $0 != id })
        }
    }

    // MARK: - Breakout groups

    /// Changes the breakout groups by `body`, and with them who is where.
    ///
    /// - Parameter limit: the most views in use in each group, as for `show`: who would exceed it where it comes to gets
    ///   the group's usual one.
    mutating func changePlaces(
        limit: Int, _ body: (inout Room) throws(ConferenceError) -> Void
    ) throws(ConferenceError) {
        let before = members.map { place(of: $0) }
        try body(&self)
        for index in members.indices where place(of: members[index]) != before[index] {
            moved(index, limit)
        }
        let groups = Set(breakout?.groups.map(\.id) ?? []).union([.main])
        speech = speech.filter { groups.contains($0.key) }
    }

    private mutating func moved(_ index: Int, _ limit: Int) {
        let id = members[index].id
        forgetSpeech(of: id)
        // A hand was raised for those who saw it.
        members[index].hand = false
        let place = place(of: members[index])
        if members[index].isPresenting, members.count(where: { $0.isPresenting && self.place(of: $0) == place }) == 1 {
            presentings.begin(in: place)
        }
        do { try requireRoom(for: members[index], limit) } catch {
            (members[index].choice, members[index].viewName) = (nil, nil)
        }
    }
}

extension Room {
    /// The member that has chosen the room's layout since `old`; nil: nobody did.
    func layoutChooser(since old: Room) -> String? { presentings.chooser(since: old.presentings) }

    /// The members of `old` that have changed, with their old state. Members are in the order of their joins in both
    /// states.
    func changedMembers(since old: Room) -> [(before: Member, now: Member)] {
        var changed: [(before: Member, now: Member)] = []
        var known = old.members[...]
        for member in members {
            known = known.drop { $0.joinOrder < member.joinOrder }
            guard let before = known.first, before.joinOrder == member.joinOrder else { continue }
            if before != member { changed.append((before, member)) }
        }
        return changed
    }

    /// The events that everyone gets at once after a change from `old`. `RosterAnnouncer` announces the members.
    func events(since old: Room) -> [ParticipantEvent] {
        var events: [ParticipantEvent] = []
        if old.isStreamed != isStreamed { events.append(.streaming(isStreamed)) }
        if old.settings.access != settings.access { events.append(.access(settings.access)) }
        return events
    }
}
