import Recording
import RoomMedia

/// What the timeline of a recording gets from a change of its room. It has neither the names of those who are not
/// recorded nor when they come and go: who agrees later joins the recording then.
enum TimelineNotes {
    /// The events that follow from a change of a room; their times are set by the recorder.
    ///
    /// - Parameters:
    ///   - old: nil where the recording starts: all that is so then.
    ///   - view: the recorded one.
    static func events(_ room: Room, since old: Room?, in view: ViewID) -> [TimelineEvent] {
        let before = Dictionary(
            uniqueKeysWithValues: (old.map { people(of: $0, in: view.group) } ?? []).map { ($0.id, $0) })
        let now = people(of: room, in: view.group)
        let present = Set(now.map(\.id))
        var events = before.values.filter { $0.isRecorded && !present.contains($0.id) }.sorted {
            $0.joinOrder < $1.joinOrder
        }.map {
            TimelineEvent(.left, participant: $0.id, name: $0.name)
        }
        for member in now {
            let was = before[member.id]
            if member.isRecorded, was?.isRecorded != true {
                events.append(TimelineEvent(.joined, participant: member.id, name: member.name))
            }
            if let was, was.isRecorded != member.isRecorded {
                events.append(TimelineEvent(member.isRecorded ? .recorded : .unrecorded, participant: member.id))
            }
            if was?.presents ?? false != member.presents {
                events.append(TimelineEvent(member.presents ? .presenting : .notPresenting, participant: member.id))
            }
            let (spoke, speaks) = (was.flatMap { old?.speaks($0) } ?? false, room.speaks(member))
            if spoke != speaks {
                events.append(TimelineEvent(speaks ? .speaking : .silent, participant: member.id))
            }
        }
        let layout = room.pictures.shown(view).name
        if old?.pictures.shown(view).name != layout { events.append(TimelineEvent(.layout, name: layout)) }
        return events
    }

    /// Those of the recorded group who may be seen or heard.
    private static func people(of room: Room, in group: GroupID) -> [Member] {
        room.members.filter { $0.effectiveRole != .viewer && room.place(of: $0) == group }
    }
}

extension Member {
    /// Whether a recording has the member's screen.
    fileprivate var presents: Bool { isPresenting && isRecorded }
}

extension Room {
    /// Whether a recording has a member's voice now.
    fileprivate func speaks(_ member: Member) -> Bool { isSpeaking(member) && member.isRecorded }
}
