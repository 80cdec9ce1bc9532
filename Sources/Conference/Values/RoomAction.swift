/// What a participant may do in its room. `rules` is the one table of roles and actions: every check reads it, and
/// `WhoCanDoWhat.md` has the same table, which a test compares.
package enum RoomAction: String, Sendable, CaseIterable {
    /// Its audio is heard, its video has a tile.
    case speak, show
    /// To switch the own audio on.
    case unmute
    /// Its video is a shared screen.
    case present
    /// Chat, its pictures, and messages of data channels.
    case chat
    case raiseHand
    case record
    /// The layout of the room, and the participants that are pinned for everyone.
    case changeLayout, pinForAll
    case mute, askToUnmute, stopScreen, setVolume
    /// To switch the cameras of others off, and to ask for them.
    case stopVideo
    /// To leave others out of recordings and streams, and to end that.
    case setRecorded
    case lowerHands
    case changeRole
    /// To make a participant of a viewer, and a viewer of a participant.
    case stage
    case remove
    case lock, lockLayout, setPIN
    /// To make, read and revoke guest links.
    case invite
    /// What participants may do (`RoomPolicy`).
    case setPolicy
    /// To let in and refuse those who wait, and to set whether people wait at all (`RoomSettings.admit`).
    case admit
    /// To make breakout groups, to put people into them and to call them back, to hear into several, and to speak to all.
    case breakOut
    /// To end the call of everyone.
    case end

    package enum Rule: String, Sendable {
        case yes, no
        /// In rooms without tokens; with tokens only for what the participant itself has started.
        case openRooms = "open rooms, or its own"
        /// Unless the layout is locked (`RoomSettings.layoutLocked`).
        case unlessLocked = "unless locked"
        /// Unless the room's hosts keep it to presenters (`RoomPolicy`).
        case whereAllowed = "where allowed"
    }

    var rules: (viewer: Rule, participant: Rule, presenter: Rule, moderator: Rule) {
        switch self {
        case .raiseHand: (.yes, .yes, .yes, .yes)
        case .speak, .show: (.no, .yes, .yes, .yes)
        case .present, .chat, .unmute: (.no, .whereAllowed, .yes, .yes)
        case .record: (.no, .openRooms, .yes, .yes)
        case .changeLayout, .pinForAll: (.no, .unlessLocked, .unlessLocked, .yes)
        case .mute, .askToUnmute, .stopScreen, .stopVideo, .setVolume, .setRecorded, .lowerHands, .changeRole, .stage,
            .remove,
            .lock,
            .lockLayout, .setPIN, .invite, .setPolicy, .admit, .breakOut, .end:
            (.no, .no, .no, .yes)
        }
    }

    package func rule(for role: Role) -> Rule {
        switch role {
        case .viewer: rules.viewer
        case .participant: rules.participant
        case .presenter: rules.presenter
        case .moderator: rules.moderator
        }
    }

    /// The action in a refusal's sentence: "Viewers may not …".
    private var phrase: String {
        switch self {
        case .speak: "speak"
        case .show: "be seen"
        case .present: "present"
        case .unmute: "switch their audio on"
        case .chat: "write to the room"
        case .raiseHand: "raise a hand"
        case .record: "control this recording"
        case .changeLayout: "change the layout of the room"
        case .pinForAll: "pin somebody for everyone"
        case .mute: "mute others"
        case .askToUnmute: "ask others to unmute"
        case .stopScreen: "stop the screens of others"
        case .stopVideo: "stop the cameras of others"
        case .setVolume: "change the volume of others"
        case .setRecorded: "leave others out of recordings"
        case .lowerHands: "lower the hands of others"
        case .changeRole: "change roles"
        case .stage: "bring people on stage and back"
        case .remove: "remove others"
        case .lock: "lock the room"
        case .lockLayout: "lock the layout"
        case .setPIN: "set the room's PIN"
        case .invite: "make guest links"
        case .setPolicy: "decide what participants may do"
        case .admit: "decide who is let in"
        case .breakOut: "make groups"
        case .end: "end the call for everyone"
        }
    }

    /// The refusal of this action for a role.
    func refusal(for role: Role) -> ConferenceError {
        if rule(for: role) == .unlessLocked {
            return .forbidden("The layout of this room is locked: only moderators may \(phrase).")
        }
        if rule(for: role) == .whereAllowed {
            return .forbidden("The hosts of this room let only presenters and moderators \(phrase).")
        }
        return .forbidden("\(role.rawValue.prefix(1).uppercased() + role.rawValue.dropFirst())s may not \(phrase).")
    }
}
