import Basics
import RoomMedia

/// One seat of a room.
struct Member: Hashable, Sendable {
    let id: String
    let resumeSecret: String
    var name: String
    var role: Role
    let kind: JoinRequest.Kind
    /// A viewer that gets this one's mix.
    let asParticipant: String?
    let joinOrder: Int

    /// What the client says it has switched on.
    var audioOn = true
    var videoOn = true
    var hand = false
    var isPresenting = false
    /// What a moderator did.
    var audioMuted = false
    var videoMuted = false
    var isPinned = false
    var volume = 1.0

    var isSpeaking = false
    /// Its own picture; nil: the room's.
    var view: PersonalView?

    var isConnected = false
    /// When media stopped to flow, or never began.
    var mediaLostAt: Instant?
    var signallingLostAt: Instant?
    let hasSignalling: Bool
    let endsWithMedia: Bool
    /// A token gave the role.
    let roleIsProven: Bool

    /// It may chat and send data channel messages to the others.
    var maySendMessages: Bool { kind == .participant && role != .viewer }

    /// Its seat outlives its media: signalling is there, by which it may offer anew.
    var staysWithoutMedia: Bool { hasSignalling && !endsWithMedia && signallingLostAt == nil }

    /// It has a tile. Viewers by role are heard of but not seen.
    var isShown: Bool { kind == .participant && role != .viewer }
    var sendsAudio: Bool { audioOn && !audioMuted && isShown }
    var sendsVideo: Bool { (videoOn || isPresenting) && !videoMuted && isShown }

    var info: ParticipantInfo {
        ParticipantInfo(
            id: id, name: name, role: kind == .viewer ? .viewer : role, audio: sendsAudio, video: sendsVideo,
            hand: hand,
            speaking: isSpeaking, presenting: isPresenting, audioMuted: audioMuted, videoMuted: videoMuted,
            pinned: isPinned,
            volume: volume)
    }
}
