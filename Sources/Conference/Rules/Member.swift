import Basics
import Codecs
import RoomMedia

/// One seat of a room.
struct Member: Hashable, Sendable {
    let id: String
    var resumeSecret: String
    var name: String
    var role: Role
    let kind: JoinRequest.Kind
    /// The participant whose view and mix this viewer gets.
    let asParticipant: String?
    let joinOrder: Int

    /// The client's own switches.
    var audioOn = true
    var videoOn = true
    var hand = false
    /// Ascending in the order in which hands were raised.
    var handOrder = 0
    var isPresenting = false
    /// Ascending in the order in which presenters began.
    var presentOrder = 0
    /// Whether the connection has a second video section, for a screen beside the camera.
    var hasScreenSection = false
    /// The second peer, which sends the screen (WHIP); nil: there is none.
    var screenPeer: ScreenPeer?
    /// Whether the audio is also that of the shared screen, and is heard while the microphone is off.
    var presentsAudio = false
    /// What the room lets participants do.
    var policy = RoomPolicy()
    /// The client has not said yet that its audio is off, as `RoomPolicy.muteOnEntry` wants.
    var entersMuted = false
    /// A moderator has asked it to switch its audio on.
    var isAskedToUnmute = false
    /// Set by moderators.
    var audioMuted = false
    var videoMuted = false
    /// Ascending in the order of pins; nil: not pinned.
    var pinOrder: Int?
    var volume = 1.0
    /// Who decided that the member is not recorded; empty: it is.
    var unrecordedBy: Set<RecordingRefusal> = []

    var avatar: StillImage?
    /// The name of the stored avatar that it joined with.
    var avatarName: String?
    /// The identity in the token of the join.
    var externalID: String?

    /// It came with its room from another server, or was away.
    var isBack = false

    /// The named view that it asked for; nil: none.
    var viewName: String?
    /// Its own choice of layout and pins; nil: as the named view is.
    var choice: ViewChoice?
    /// The number of the presenting during which it was chosen; nil: nobody presented.
    var choiceMadeDuring: Int?

    /// What the server did not get of what the member said to send, as its loop reported last.
    var notReceived: MediaKinds = []

    var isConnected = false
    /// Whether there was a media connection already.
    var wasConnected = false
    /// When the media connection was lost, or when the member joined if there was none yet.
    var mediaLostAt: Instant?
    var signallingLostAt: Instant?
    let hasSignalling: Bool
    let endsWithMedia: Bool
    /// See `AdmittedJoin.roleIsProven`.
    let roleIsProven: Bool
    /// See `JoinRequest.isNative`.
    let isNative: Bool
    /// See `JoinRequest.mayHost`.
    var mayHost = true
    /// See `JoinRequest.drawsSigns`.
    var drawsSigns = false
    /// The key by which it is a host, and is one again when it comes back; nil for everybody else.
    var hostKey: HostKey?
    /// What the browser of a guest is known by (`GuestLinks`).
    var visit: String?
    /// Its page was closed, perhaps to be loaded again.
    var mayReturn = false

    /// The role that counts: a client that only receives is a viewer.
    var effectiveRole: Role { kind == .viewer ? .viewer : role }
    /// Whether it is a source that the server pulls, and no person.
    var isInput: Bool { kind == .input }
    func permits(_ action: RoomAction) -> Bool {
        switch action.rule(for: effectiveRole) {
        case .yes: true
        case .whereAllowed: policy.allows(action)
        case .no, .openRooms, .unlessLocked: false
        }
    }
    /// Whether the member may become the moderator of a room without tokens.
    var canInherit: Bool { isNative && mayHost && !roleIsProven && effectiveRole != .viewer }

    var isPinned: Bool { pinOrder != nil }

    /// Whether the member may chat and send data channel messages to the others.
    var maySendMessages: Bool { permits(.chat) }

    /// Whether the seat outlives its media connection: the client still has signalling, by which it can offer again.
    var staysWithoutMedia: Bool { hasSignalling && !endsWithMedia && signallingLostAt == nil }

    /// Whether the member has a tile. Viewers by role are listed but have none.
    var isShown: Bool { permits(.show) }
    /// Whether the screen that the member presents is a picture beside the camera's.
    var sendsScreenBeside: Bool { isPresenting && mayScreenBeBeside }
    private var mayScreenBeBeside: Bool { hasScreenSection || screenPeer != nil }
    /// Whether the microphone is heard.
    var speaksAloud: Bool { audioOn && !audioMuted && permits(.speak) }
    var sendsAudio: Bool { (audioOn || isPresenting && presentsAudio) && !audioMuted && permits(.speak) }
    /// Whether the camera's picture is sent, or the screen in its place.
    var sendsVideo: Bool { (videoOn || isPresenting && !mayScreenBeBeside) && !videoMuted && isShown }

    /// What the member says to send by microphone and camera, and may send.
    var claims: MediaKinds {
        var kinds: MediaKinds = speaksAloud ? .audio : []
        // A screen in place of the camera sends nothing while it stands still.
        if videoOn, !videoMuted, isShown, !isPresenting || mayScreenBeBeside { kinds.insert(.video) }
        return kinds
    }
    /// What of that the server does not get.
    var missing: MediaKinds { notReceived.intersection(claims) }
    /// Whether the microphone is on, and its audio comes.
    var isHeard: Bool { speaksAloud && !missing.contains(.audio) }

    /// Whether what leaves the room (recordings, their tracks, streams) may have the member's picture and audio.
    var isRecorded: Bool { unrecordedBy.isEmpty }

    /// Ends the presenting, and with it the peer that sends the screen.
    mutating func stopPresenting() {
        (isPresenting, presentsAudio) = (false, false)
        if screenPeer?.hasBegun == true { screenPeer = nil }
    }

    /// Without what the room knows: the group, and who speaks.
    var info: ParticipantInfo {
        ParticipantInfo(
            id: id, name: name, role: effectiveRole, audio: speaksAloud, video: sendsVideo,
            hand: hand, handOrder: hand ? handOrder : nil,
            speaking: false, presenting: isPresenting, audioMuted: audioMuted, videoMuted: videoMuted,
            pinned: isPinned,
            volume: volume, unrecordedBy: unrecordedBy.sorted(), isInput: isInput, missing: missing)
    }
}
