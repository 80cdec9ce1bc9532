import Conference
import WebServer

/// The message `moderate` of a client.
struct ModerateMessage: Decodable {
    enum Action: String, Decodable, CaseIterable {
        case mute, muteAll, askToUnmute, stopScreen, stopVideo, askForVideo, remove, lowerHand, lowerHands, role,
            volume, recorded, stage,
            audience,
            admit, refuse, refuseAddress
        case end
    }

    private var action: Action
    private var participant: String?
    private var role: Role?
    private var volume: Double?
    private var recorded: Bool?

    /// - Throws: `bad_message` for a member that the action needs and the message has not.
    func moderation() throws(Refusal) -> Moderation {
        switch action {
        case .mute: .mute(try other())
        case .muteAll: .muteAll
        case .askToUnmute: .askToUnmute(try other())
        case .stopScreen: .stopScreen(try other())
        case .stopVideo: .stopVideo(try other())
        case .askForVideo: .askForVideo(try other())
        case .remove: .remove(try other())
        case .lowerHand: .lowerHand(try other())
        case .lowerHands: .lowerHands
        case .role: .changeRole(try other(), try needed(role, "role"))
        case .volume: .setVolume(try other(), try needed(volume, "volume"))
        case .recorded: .setRecorded(try other(), try needed(recorded, "recorded"))
        case .stage: .stage(try other())
        case .audience: .audience(try other())
        case .admit: .admit(participant)
        case .refuse: .refuse(participant)
        case .refuseAddress: .refuseAddress(try other())
        case .end: .end
        }
    }

    private func other() throws(Refusal) -> String { try needed(participant, "participant") }

    private func needed<Value>(_ value: Value?, _ name: String) throws(Refusal) -> Value {
        guard let value else { throw Refusal(.badMessage, "moderate: \(action.rawValue) needs \(name)") }
        return value
    }
}

/// The message `room` of a client.
struct RoomMessage: Decodable {
    enum Keys: String, CodingKey, CaseIterable {
        case locked, layoutLocked, admit, pin, muteOnEntry, share, chat, unmute
    }
    private typealias CodingKeys = Keys

    private var locked: Bool?
    private var layoutLocked: Bool?
    private var admit: Admission?
    private var pin: String?
    private var muteOnEntry: Bool?
    private var share: RoomPolicy.Permission?
    private var chat: RoomPolicy.Permission?
    private var unmute: RoomPolicy.Permission?

    /// - Throws: `bad_message` for a message without any member.
    func change() throws(Refusal) -> RoomSettingsChange {
        var change = RoomSettingsChange()
        change.locked = locked
        change.layoutLocked = layoutLocked
        change.admit = admit
        change.pin = pin
        (change.muteOnEntry, change.share, change.chat, change.unmute) = (muteOnEntry, share, chat, unmute)
        guard change != RoomSettingsChange() else { throw Refusal(.badMessage, "room: nothing to change") }
        return change
    }
}
