/// The breakout groups that a moderator makes.
package struct BreakoutPlan: Hashable, Sendable {
    package static let allowedGroups = 1...50
    /// The time from the opening to the end.
    package static let allowedLength = Duration.seconds(10)...Duration.seconds(24 * 3600)
    package static let allowedCountdown = Duration.zero...Duration.seconds(600)
    /// How long before the end participants are told that they are called back.
    package static let countdown = Duration.seconds(60)

    /// The groups have the numbers from 1 on, in this order.
    package var names: [String]
    /// Whether participants choose their groups themselves, and go back to the room when they want.
    package var mayChoose: Bool

    package init(names: [String], mayChoose: Bool = false) {
        self.names = names
        self.mayChoose = mayChoose
    }
}

/// What a moderator or, for `choose`, a participant asks about breakout groups. A group is its number; 0 is the room
/// itself.
package enum BreakoutRequest: Hashable, Sendable {
    /// Makes groups, in which nobody is yet, in the place of others that are not open.
    case make(BreakoutPlan)
    case rename(Int, String)
    /// Puts participants into groups, by their ids; while the groups are open they are moved at once.
    case assign([String: Int])
    /// Distributes everybody who is in no group and is no moderator.
    case fill
    case allowChoice(Bool)
    /// Moves everybody to the groups.
    case open(endsIn: Duration?)
    case setEnd(in: Duration?)
    case callBack(Duration)
    /// Brings everybody back at once, and forgets the groups.
    case close
    /// Gives the moderator who asks the audio of these groups beside that of its own, and the picture of another one.
    case listen([Int], look: Int?)
    /// Whether all groups hear the moderator who asks.
    case speakToAll(Bool)
    /// Puts the participant who asks into a group.
    case choose(Int)
}

/// The breakout groups of a room.
package struct BreakoutInfo: Hashable, Sendable {
    package enum Phase: String, Sendable, CaseIterable {
        /// The groups are prepared, and everybody is in the room.
        case planned
        case open
        /// Everybody has been called back.
        case ending
    }

    package struct Group: Hashable, Sendable {
        /// From 1 on.
        package var number: Int
        package var name: String
        /// Who is assigned to it and in the meeting, in the order of their joins.
        package var participants: [String]
        /// The moderators who hear it from elsewhere.
        package var listeners: [String]
        /// The id of its recording; nil: it is not recorded.
        package var recording: String?

        package init(
            number: Int, name: String, participants: [String] = [], listeners: [String] = [], recording: String? = nil
        ) {
            self.number = number
            self.name = name
            self.participants = participants
            self.listeners = listeners
            self.recording = recording
        }
    }

    package var phase: Phase
    package var groups: [Group]
    package var mayChoose: Bool
    /// The time until everybody is back; nil: as long as a moderator wants.
    package var endsIn: Duration?
    /// The moderators whom all groups hear.
    package var speakers: [String]

    package init(
        phase: Phase, groups: [Group], mayChoose: Bool = false, endsIn: Duration? = nil, speakers: [String] = []
    ) {
        self.phase = phase
        self.groups = groups
        self.mayChoose = mayChoose
        self.endsIn = endsIn
        self.speakers = speakers
    }
}

/// The breakout groups as one participant is told of them.
package struct BreakoutNotice: Hashable, Sendable {
    /// nil: there are none (any more).
    package var info: BreakoutInfo?
    /// Whether the participant may change them, and knows who is in which.
    package var isHost: Bool
    /// The number of the participant's own group; 0: none.
    package var own = 0
    /// Of a moderator: the groups that it hears beside its own, whose picture it gets, and whether all hear it.
    package var listensTo: [Int] = []
    package var looksInto: Int?
    package var speaksToAll = false
    /// Whether the participant may go to other groups and back.
    package var mayMove = false

    package init(info: BreakoutInfo?, isHost: Bool, own: Int = 0) {
        self.info = info
        self.isHost = isHost
        self.own = own
    }
}
