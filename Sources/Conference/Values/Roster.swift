/// The members of a room as announced to clients that follow its changes: every participant that can be seen or heard
/// is listed, other viewers are counted. The cost of a room with five hundred viewers for each client thus depends only
/// on its listed participants.
package struct Roster: Hashable, Sendable {
    /// The listed participants, in the order in which they were added.
    package private(set) var listed: [ParticipantInfo] = []
    /// The number of members that are not listed.
    package private(set) var viewers = 0

    package init() {}

    /// A new list, in the order of `everyone`.
    package init(_ everyone: [ParticipantInfo]) { self.apply(change(to: everyone)) }

    /// The change that makes the list represent `everyone`, the present members of the room.
    package func change(to everyone: [ParticipantInfo]) -> RosterChange {
        var left = Dictionary(listed.map { ($0.id, $0) }) { first, _ in first }
        var change = RosterChange(viewers: 0)
        for person in everyone {
            guard person.isListed else {
                change.viewers += 1
                continue
            }
            switch left.removeValue(forKey: person.id) {
            case nil: change.joined.append(person)
            case person?: break
            case .some: change.changed.append(person)
            }
        }
        // In the order of the list, so that equal changes have equal encodings.
        change.left = listed.map(\.id).filter { left[$0] != nil }
        return change
    }

    /// Applies a change, as clients do with each one that they receive.
    package mutating func apply(_ change: RosterChange) {
        let left = Set(change.left)
        let changed = Dictionary(change.changed.map { ($0.id, $0) }) { first, _ in first }
        listed.removeAll { left.contains($0.id) }
        for index in listed.indices {
            if let person = changed[listed[index].id] { listed[index] = person }
        }
        listed += change.joined
        viewers = change.viewers
    }
}

/// The difference between two states of a `Roster`.
package struct RosterChange: Hashable, Sendable {
    /// Participants to append to the list.
    package var joined: [ParticipantInfo] = []
    /// Participants that replace the one with the same id.
    package var changed: [ParticipantInfo] = []
    /// The ids of participants to remove from the list.
    package var left: [String] = []
    /// The number of unlisted members after the change.
    package var viewers: Int

    package init(viewers: Int) { self.viewers = viewers }
}

extension ParticipantInfo {
    /// Whether a `Roster` lists the participant: viewers only while they raise their hand.
    package var isListed: Bool { role != .viewer || hand }
}

/// One announcement of a room's members.
package struct RosterUpdate: Hashable, Sendable {
    /// Counts the announcements of a room. `change` is for clients that got the previous announcement, `roster` for all
    /// others.
    package var number: Int
    /// All members of the room, viewers too, in the order of their joins.
    package var everyone: [ParticipantInfo]
    package var roster: Roster
    package var change: RosterChange
    /// Whether `change` changes the roster.
    package var isVisible: Bool
}
