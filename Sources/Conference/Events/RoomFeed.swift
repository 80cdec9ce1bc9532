import Basics
import RoomMedia

/// Derives a room's server events from its changes. A value.
struct RoomFeed: Sendable {
    /// The members as the events have told them, without `speaking`.
    private var told: [String: ParticipantInfo] = [:]
    /// Why members leave, until the change that removes them is published.
    private var leaving: [String: LeaveReason] = [:]

    /// Takes over who was told where the room comes from: they are not told to join when they are back.
    mutating func expect(_ people: [ParticipantInfo]) {
        for info in people { told[info.id] = info }
    }

    /// The events of those who have not come back.
    mutating func missed(_ ids: Set<String>) -> [ServerEvent.Happening] {
        ids.sorted().compactMap { told.removeValue(forKey: $0) }.map { .participantLeft($0, .timeout) }
    }

    /// Notes why a member leaves.
    mutating func leaves(_ id: String, _ reason: LeaveReason) { leaving[id] = reason }

    /// The events of a change.
    mutating func changes(_ change: RoomChange) -> [ServerEvent.Happening] {
        let (old, new) = (change.old, change.new)
        var happened: [ServerEvent.Happening] = []
        if !change.isSameMembers {
            let present = Set(new.members.map(\.id))
            // Who leaves a moving room and has a ticket is on the way to where the room goes on.
            let left = old.members.filter { !present.contains($0.id) && (new.movingUntil == nil || !$0.isNative) }
            happened += left.compactMap { self.left($0) }
            for member in new.members where told[member.id] == nil {
                let info = Self.withoutVoice(member.info)
                told[member.id] = info
                happened.append(.participantJoined(info))
            }
        }
        if old.speaker != new.speaker { happened.append(.speakerChanged(new.speaker)) }
        for recording in new.recordings {
            let before = old.recordings.first { $0.id == recording.id }
            if let change = Self.recording(from: before, to: recording) { happened.append(change) }
        }
        if !change.isSamePictures {
            let (before, now) = (old.pictures, new.pictures)
            for view in new.settings.viewNames.map({ ViewID($0) }) where before.shown(view) != now.shown(view) {
                happened.append(.layoutChanged(now.shown(view)))
            }
        }
        return happened
    }

    /// The event of a change of the breakout groups.
    func breakout(from old: Room, to new: Room, at now: Instant) -> [ServerEvent.Happening] {
        let (before, groups) = (old.breakoutInfo(at: now), new.breakoutInfo(at: now))
        if before == groups { return [] }
        guard let groups else { return [.breakoutClosed] }
        switch (before?.phase, groups.phase) {
        case (.planned?, .open), (nil, .open): return [.breakoutOpened(groups)]
        case (.open?, .ending), (.planned?, .ending): return [.breakoutEnding(groups)]
        default: return [.breakoutChanged(groups)]
        }
    }

    /// The events of an announcement of the members, at most four of which come in a second (`RosterAnnouncer`).
    mutating func announced(_ everyone: [ParticipantInfo]) -> [ServerEvent.Happening] {
        everyone.map(Self.withoutVoice).compactMap { info in
            guard let known = told[info.id], known != info else { return nil }
            told[info.id] = info
            return .participantUpdated(info)
        }
    }

    /// The events of the room's end.
    mutating func ended(_ room: Room, _ reason: LeaveReason) -> [ServerEvent.Happening] {
        for member in room.members { leaving[member.id] = leaving[member.id] ?? reason }
        // The room goes on elsewhere, and with it those who have tickets.
        if reason == .moved { return room.members.filter { !$0.isNative }.compactMap { left($0) } }
        return missed(room.absent.expected) + room.members.compactMap { left($0) } + [.roomEnded(room.meeting, reason)]
    }

    private mutating func left(_ member: Member) -> ServerEvent.Happening? {
        let reason = leaving.removeValue(forKey: member.id) ?? .left
        // The latest state, also where it was not announced any more.
        return told.removeValue(forKey: member.id).map { _ in
            .participantLeft(Self.withoutVoice(member.info), reason)
        }
    }

    /// The end of a recording is told when its file is complete.
    private static func recording(from old: RecordingInfo?, to new: RecordingInfo) -> ServerEvent.Happening? {
        guard let old else { return .recordingStarted(new) }
        switch (old.state, new.state) {
        case (.recording, .paused): return .recordingPaused(new)
        case (.paused, .recording): return .recordingResumed(new)
        default: return nil
        }
    }

    /// Who speaks changes several times a second, and has an event of its own.
    private static func withoutVoice(_ info: ParticipantInfo) -> ParticipantInfo {
        var info = info
        info.speaking = false
        return info
    }
}

extension Room {
    var meeting: ServerEvent.Meeting {
        ServerEvent.Meeting(id: id, createdAt: createdAt, layout: settings.layout, participants: members.count)
    }
}
