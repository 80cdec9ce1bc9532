import Basics
import Foundation
import RoomMedia

/// Who is in a room and what they may do there: a value without threads, media or clocks.
struct Room: Sendable {
    /// A participant whose signalling is lost keeps its seat so long.
    static let seatKept = Duration.seconds(15)
    /// Who is silent so long on signalling and media has left.
    static let silenceLimit = Duration.seconds(30)

    let id: String
    var settings: RoomSettings
    let createdAt: Date
    private(set) var members: [Member] = []
    private(set) var speaker: String?
    /// Best first: who spoke last.
    private(set) var speakerRanks: [String] = []
    private(set) var emptySince: Instant?
    var recording: RecordingInfo?
    private var joins = 0

    init(id: String, settings: RoomSettings, createdAt: Date, at now: Instant) {
        self.id = id
        self.settings = settings
        self.createdAt = createdAt
        emptySince = now
    }

    /// The pictures beside the one for all, each once.
    var personalViews: Set<PersonalView> { Set(members.compactMap(\.view)) }

    /// Somebody gets a picture of one of these layouts.
    func uses(_ layouts: Set<String>) -> Bool {
        layouts.contains(settings.layout) || members.contains { $0.view.map { layouts.contains($0.layout) } ?? false }
    }

    func member(_ id: String) -> Member? { members.first { $0.id == id } }
    var infos: [ParticipantInfo] { members.map(\.info) }

    /// Which picture a member gets: its own, that of whom it stands for, or the room's.
    func view(of member: Member) -> ViewID {
        (member.view ?? member.asParticipant.flatMap { self.member($0)?.view }).map { .personal($0) } ?? .room
    }

    /// The pictures of all members, by their ids.
    var views: [String: ViewID] { Dictionary(members.map { ($0.id, view(of: $0)) }) { first, _ in first } }

    private func index(_ id: String) throws(ConferenceError) -> Int {
        guard let index = members.firstIndex(where: { $0.id == id }) else { throw .participantNotFound(id) }
        return index
    }

    // MARK: - Coming and going

    mutating func join(_ request: JoinRequest, id: String, secret: String, at now: Instant) throws(ConferenceError)
        -> Member
    {
        if settings.locked, request.role != .moderator || !request.roleIsProven { throw .roomLocked(self.id) }
        if members.count >= settings.maxParticipants { throw .roomFull(self.id) }
        if let other = request.asParticipant, member(other) == nil { throw .participantNotFound(other) }
        let member = Member(
            id: id, resumeSecret: secret, name: Names.shown(request.name) ?? "Guest", role: request.role,
            kind: request.kind,
            asParticipant: request.asParticipant, joinOrder: joins, mediaLostAt: now,
            hasSignalling: request.hasSignalling,
            endsWithMedia: request.endsWithMedia, roleIsProven: request.roleIsProven)
        joins += 1
        members.append(member)
        emptySince = nil
        return member
    }

    /// Returns whether anyone went.
    @discardableResult
    mutating func leave(_ id: String, at now: Instant) -> Bool {
        guard let index = members.firstIndex(where: { $0.id == id }) else { return false }
        members.remove(at: index)
        speakerRanks.removeAll { $0 == id }
        if speaker == id { speaker = nil }
        for index in members.indices { members[index].view?.pins.removeAll { $0 == id } }
        if members.isEmpty { emptySince = now }
        return true
    }

    /// The secret must be the one that was given at the join.
    mutating func resume(_ id: String, secret: String) throws(ConferenceError) {
        guard let index = members.firstIndex(where: { $0.id == id }), !secret.isEmpty,
            members[index].resumeSecret == secret
        else {
            throw .unauthorized("This seat is not kept any more: join anew.")
        }
        members[index].signallingLostAt = nil
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
        members[index].mediaLostAt = isConnected ? nil : now
    }

    /// Whose seats are not kept any longer.
    func expired(at now: Instant) -> [String] {
        members.filter { member in
            if let lost = member.signallingLostAt, now - lost >= Room.seatKept { return true }
            guard let silent = member.mediaLostAt, now - silent >= Room.silenceLimit else { return false }
            return member.signallingLostAt != nil || !member.hasSignalling || member.endsWithMedia
        }.map(\.id)
    }

    /// Nobody has been here for longer than `timeout`.
    func isAbandoned(after timeout: Duration, at now: Instant) -> Bool {
        emptySince.map { now - $0 >= timeout } ?? false
    }

    // MARK: - What members do

    mutating func setState(_ id: String, audio: Bool?, video: Bool?, hand: Bool?) throws(ConferenceError) {
        let index = try index(id)
        if let audio { members[index].audioOn = audio }
        if let video { members[index].videoOn = video }
        if let hand { members[index].hand = hand }
    }

    mutating func present(_ id: String, _ on: Bool) throws(ConferenceError) {
        let index = try index(id)
        if on, !members[index].isShown { throw .forbidden("Viewers cannot present.") }
        members[index].isPresenting = on
    }

    /// A picture for everyone, or one of the member's own. One of its own that is like the room's is none.
    ///
    /// - Parameter viewLimit: how many pictures there may be beside the one for all: who asks for one more keeps what
    ///   it has.
    mutating func setLayout(
        _ name: String, scope: LayoutScope, pins: [String]?, by id: String, viewLimit: Int = .max
    ) throws(ConferenceError) {
        let index = try index(id)
        switch scope {
        case .room:
            guard members[index].role != .viewer, members[index].kind != .viewer else {
                throw .forbidden("Viewers cannot change the layout of the room.")
            }
            settings.layout = name
            if let pins { for index in members.indices { members[index].isPinned = pins.contains(members[index].id) } }
        case .me:
            let view = personalView(name, pins: pins)
            if let view, !personalViews.contains(view) {
                let others = Set(members.filter { $0.id != id }.compactMap(\.view))
                if others.count >= viewLimit {
                    throw .atCapacity(
                        "The room shows \(viewLimit) pictures beside the one for all, which is all that it may: take one of those, or the room's.",
                        retryAfter: .seconds(30))
                }
            }
            members[index].view = view
        }
    }

    /// What a member would get; nil: the room's picture. The order of pins changes nothing, so they are in one order
    /// for all.
    func personalView(_ layout: String, pins: [String]?) -> PersonalView? {
        let pins = Set(pins ?? []).filter { member($0) != nil }.sorted()
        return layout == settings.layout && pins.isEmpty ? nil : PersonalView(layout: layout, pins: pins)
    }

    /// Whether a member may say something to everyone: viewers watch.
    func requireMaySendMessages(_ id: String) throws(ConferenceError) {
        if !members[try index(id)].maySendMessages { throw .forbidden("Viewers cannot write to the room.") }
    }

    /// Where roles are given by a token, recording is for moderators and presenters, and for who started it. Where
    /// anybody may call themselves a moderator, a role says nothing, and everyone but viewers may.
    func mayRecord(_ id: String, startedBy: String?) throws(ConferenceError) {
        let member = members[try index(id)]
        if member.role == .viewer || member.kind == .viewer { throw .forbidden("Viewers cannot record.") }
        guard member.roleIsProven, member.role == .participant, startedBy != id else { return }
        throw .forbidden("Only moderators and presenters may record in this room.")
    }

    // MARK: - Moderation

    @discardableResult
    mutating func change(_ id: String, _ change: ParticipantChange) throws(ConferenceError) -> ParticipantInfo {
        let index = try index(id)
        let change = try change.checked()
        if let value = change.audioMuted { members[index].audioMuted = value }
        if let value = change.videoMuted { members[index].videoMuted = value }
        if let value = change.pinned { members[index].isPinned = value }
        if let value = change.role {
            members[index].role = value
            if value == .viewer { members[index].isPresenting = false }
        }
        if let value = change.volume { members[index].volume = value }
        if let value = change.name { members[index].name = value }
        return members[index].info
    }

    mutating func change(_ change: RoomSettingsChange) throws(ConferenceError) {
        try settings.apply(change)
    }

    // MARK: - What is heard

    mutating func speakers(active: String?, ranks: [String], speaking: Set<String>) {
        speaker = active.flatMap { member($0) == nil ? nil : $0 }
        speakerRanks = ranks.filter { member($0) != nil }
        for index in members.indices { members[index].isSpeaking = speaking.contains(members[index].id) }
    }
}

extension RoomSettings {
    /// Takes over what is given, or refuses it all.
    mutating func apply(_ change: RoomSettingsChange) throws(ConferenceError) {
        func check(_ name: String, _ value: Int?, _ range: ClosedRange<Int>, even: Bool = false) throws(ConferenceError)
        {
            guard let value, !range.contains(value) || even && value % 2 != 0 else { return }
            throw .badRequest(
                "\(name): \(even ? "an even" : "a whole") number from \(range.lowerBound) to \(range.upperBound)")
        }
        try check("width", change.width, Self.allowed.width, even: true)
        try check("height", change.height, Self.allowed.height, even: true)
        try check("framesPerSecond", change.framesPerSecond, Self.allowed.framesPerSecond)
        try check("maxParticipants", change.maxParticipants, Self.allowed.maxParticipants)
        layout = change.layout ?? layout
        width = change.width ?? width
        height = change.height ?? height
        framesPerSecond = change.framesPerSecond ?? framesPerSecond
        locked = change.locked ?? locked
        maxParticipants = change.maxParticipants ?? maxParticipants
    }
}

extension ParticipantChange {
    /// The change as it is made: its name as it is shown.
    ///
    /// - Throws: what is not allowed.
    func checked() throws(ConferenceError) -> ParticipantChange {
        var change = self
        if let volume, !Self.allowedVolume.contains(volume) {
            throw .badRequest(
                "volume: a number from \(Int(Self.allowedVolume.lowerBound)) to \(Int(Self.allowedVolume.upperBound))")
        }
        if let name {
            guard let shown = Names.shown(name) else {
                throw .badRequest("name: 1 to \(Names.allowedLength.upperBound) characters")
            }
            change.name = shown
        }
        return change
    }
}

extension Room {
    /// Who was here in `old` and is different now, with how they were. Members stand in the order in which they came,
    /// and stay in it.
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

    /// What everyone must be told at once after a change, from how it was before. Who is in the room is told by
    /// `RosterAnnouncer`.
    func news(since old: Room) -> [ParticipantEvent] {
        var events: [ParticipantEvent] = []
        if old.speaker != speaker { events.append(.speaker(speaker)) }
        if old.settings.layout != settings.layout { events.append(.layout(settings.layout)) }
        if old.recording != recording { events.append(.recording(recording)) }
        return events
    }
}
