/// Who is in a room, as clients that follow its changes are told: everyone who may be seen or heard by themselves, the
/// other viewers as a number. A room of five hundred who watch then costs each of them no more than those who speak.
public struct Roster: Hashable, Sendable {
    /// Who is listed, in the order in which they came to the list.
    public private(set) var listed: [ParticipantInfo] = []
    /// How many more there are.
    public private(set) var viewers = 0

    public init() {}

    /// A list made anew, in the order of `everyone`.
    public init(_ everyone: [ParticipantInfo]) { self.apply(change(to: everyone)) }

    /// What must be applied so that the list tells of `everyone`, who are in the room now.
    public func change(to everyone: [ParticipantInfo]) -> RosterChange {
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
        // In the order of the list, so that the same change is always written the same.
        change.left = listed.map(\.id).filter { left[$0] != nil }
        return change
    }

    /// What a client does with each change that it is told.
    public mutating func apply(_ change: RosterChange) {
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

/// What is different between two states of a `Roster`.
public struct RosterChange: Hashable, Sendable {
    /// Who comes to the end of the list.
    public var joined: [ParticipantInfo] = []
    /// Who takes the place of the one with the same id.
    public var changed: [ParticipantInfo] = []
    /// The ids of who goes from the list.
    public var left: [String] = []
    /// How many are in the room and not in the list, afterwards.
    public var viewers: Int

    init(viewers: Int) { self.viewers = viewers }
}

extension ParticipantInfo {
    /// Whether a `Roster` names it: viewers only while they raise their hand.
    public var isListed: Bool { role != .viewer || hand }
}

/// One announcement of who is in a room.
public struct RosterUpdate: Hashable, Sendable {
    /// Counts the announcements of a room. `change` is for whoever got the announcement before this one, `roster` for
    /// everyone else.
    public var number: Int
    /// Everyone in the room, viewers too, in the order in which they came.
    public var everyone: [ParticipantInfo]
    public var roster: Roster
    public var change: RosterChange
    /// `change` says something new.
    public var isVisible: Bool
}
