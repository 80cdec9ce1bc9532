/// What a participant asks for about others, by the message `moderate`.
package enum Moderation: Hashable, Sendable {
    /// Switches the audio off; the participant may switch it on again. (`ParticipantChange.audioMuted` lasts.)
    case mute(String)
    /// The same for everyone except who asks.
    case muteAll
    /// Asks for audio. For clients without native signalling, which cannot be asked, ends a `mute`.
    case askToUnmute(String)
    case stopScreen(String)
    /// Switches the camera off; the participant may switch it on again. (`ParticipantChange.videoMuted` lasts.)
    case stopVideo(String)
    /// Asks for the camera. For clients without native signalling, which cannot be asked, ends a `stopVideo`.
    case askForVideo(String)
    case setVolume(String, Double)
    /// Whether recordings and streams have the participant. Its own refusal, and its token's, stand.
    case setRecorded(String, Bool)
    case lowerHand(String)
    case lowerHands
    case changeRole(String, Role)
    /// A viewer becomes a participant, on the same connection …
    case stage(String)
    /// … and a participant a viewer.
    case audience(String)
    case remove(String)
    /// Lets in one who waits (`WaitingPerson.id`), or everyone …
    case admit(String?)
    /// … or refuses them.
    case refuse(String?)
    /// Refuses everybody who waits at the address of this one, and whoever asks from there for ten minutes.
    case refuseAddress(String)
    case end

    package var action: RoomAction {
        switch self {
        case .mute, .muteAll: .mute
        case .askToUnmute: .askToUnmute
        case .stopScreen: .stopScreen
        case .stopVideo, .askForVideo: .stopVideo
        case .setVolume: .setVolume
        case .setRecorded: .setRecorded
        case .lowerHand, .lowerHands: .lowerHands
        case .changeRole: .changeRole
        case .stage, .audience: .stage
        case .remove: .remove
        case .admit, .refuse, .refuseAddress: .admit
        case .end: .end
        }
    }
}

/// What a moderator asks of a participant's client.
package enum ModeratorWish: String, Sendable {
    case unmute
    /// The screen is not shown any more; the client should stop sending it.
    case stopScreen
    /// The camera is not shown any more; the client should stop sending it.
    case stopVideo
    case video
}
