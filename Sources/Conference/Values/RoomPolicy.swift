/// What participants may do in a room by the choice of its hosts. Moderators and presenters may do all of it, whatever
/// they choose.
package struct RoomPolicy: Hashable, Sendable {
    package enum Permission: String, Sendable, CaseIterable { case everyone, presenters }

    /// To share a screen.
    package var share = Permission.everyone
    /// To write to the chat, to send pictures and files.
    package var chat = Permission.everyone
    /// To switch the own audio on, unless a moderator has asked for it.
    package var unmute = Permission.everyone
    /// Whether new participants come in with the audio off. They may switch it on, where `unmute` lets them.
    package var muteOnEntry = false

    package init() {}

    /// Whether participants may do this. Of an action that no policy is about, `RoomAction.rules` decides.
    func allows(_ action: RoomAction) -> Bool {
        switch action {
        case .present: share == .everyone
        case .chat: chat == .everyone
        case .unmute: unmute == .everyone
        default: true
        }
    }
}

extension RoomSettingsChange {
    /// Whether it is about what participants may do.
    var changesPolicy: Bool { muteOnEntry != nil || share != nil || chat != nil || unmute != nil }
}

/// Why the server keeps a participant's audio off although its client has switched it on.
package enum MuteReason: String, Sendable {
    /// The room lets everybody in muted. The client may switch its audio on once it has shown it as off.
    case entry
    /// Participants may not switch it on (`RoomPolicy.unmute`).
    case policy
}
