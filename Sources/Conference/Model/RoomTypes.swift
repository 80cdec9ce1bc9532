public import Basics
public import Foundation
import Mixing
public import Recording
public import RoomMedia

/// What can be set for a room.
public struct RoomSettings: Hashable, Sendable {
    public var layout = "grid"
    /// The canvas, in pixels.
    public var width = 1280
    public var height = 720
    public var framesPerSecond = 30
    /// Nobody new comes in.
    public var locked = false
    public var maxParticipants = 50

    public init() {}

    /// What can be set: for the checks here, the keys of the settings file and the description of the API.
    public struct Allowed: Sendable {
        /// In pixels, even.
        public let width = 160...3840
        public let height = 90...2160
        public let framesPerSecond = 1...60
        public let maxParticipants = 1...1000
    }
    public static let allowed = Allowed()
}

/// A change of a room's settings: what is nil stays.
public struct RoomSettingsChange: Hashable, Sendable {
    public var layout: String?
    public var width: Int?
    public var height: Int?
    public var framesPerSecond: Int?
    public var locked: Bool?
    public var maxParticipants: Int?

    public init() {}
}

/// A room as it is seen from outside.
public struct RoomInfo: Sendable {
    public var id: String
    public var settings: RoomSettings
    public var participants: [ParticipantInfo]
    public var tiles: TilesInfo
    public var renditions: [RenditionInfo]
    public var recording: RecordingInfo?
    public var createdAt: Date
    /// Its layout by name, as `settings.layout`.
    public var layout: String { settings.layout }
}

/// Whose picture a choice of a layout is for: everyone's, or one's own.
public enum LayoutScope: String, Sendable, CaseIterable { case room, me }

public enum Role: String, Sendable, CaseIterable, Hashable {
    case participant, presenter, moderator, viewer
}

/// What others see of a participant.
public struct ParticipantInfo: Hashable, Sendable {
    public var id: String
    public var name: String
    public var role: Role
    /// What it has switched on and nobody has muted.
    public var audio: Bool
    public var video: Bool
    public var hand: Bool
    public var speaking: Bool
    public var presenting: Bool
    /// Muted by a moderator.
    public var audioMuted: Bool
    public var videoMuted: Bool
    public var pinned: Bool
    /// 1 is as it came.
    public var volume: Double
}

/// Moderation of one participant: what is nil stays.
public struct ParticipantChange: Hashable, Sendable {
    /// 1 is as it came.
    public static let allowedVolume = 0.0...4.0

    public var audioMuted: Bool?
    public var videoMuted: Bool?
    public var pinned: Bool?
    public var role: Role?
    public var volume: Double?
    public var name: String?

    public init() {}
}

public struct RenditionInfo: Hashable, Sendable {
    public var codec: VideoCodec
    public var width: Int
    public var height: Int
    public var framesPerSecond: Int
    public var bitRate: BitRate
    /// How many peers (and recordings) take it.
    public var members: Int
}

public struct LayoutInfo: Hashable, Sendable {
    public var name: String
    public var description: String

    /// Whether a layout can have this name.
    public static func isName(_ text: String) -> Bool { Layout.isName(text) }
}

public struct ChatMessage: Hashable, Sendable {
    /// Bytes of `text`.
    public static let allowedLength = 1...8192

    /// The participant who said it.
    public var from: String
    public var fromName: String
    /// nil: everyone.
    public var to: String?
    public var text: String
    public var at: Date
}

public struct RecordingInfo: Hashable, Sendable {
    /// `repairing`: a crash left it open, and it is being closed.
    public enum State: String, Sendable, CaseIterable { case recording, paused, finished, failed, repairing }
    public var id: String
    public var room: String
    /// The name of the file; `Conference.recordingPath` says where it lies.
    public var file: String
    public var state: State
    public var startedAt: Date
    /// Of the media, without pauses.
    public var duration: Duration?
    public var bytes: Int?
    /// What a slow disk lost.
    public var dropped = RecordingLosses()
    /// Why it failed, or ended early.
    public var failure: String?
}

/// The answer to a client's offer.
public struct SDPAnswer: Hashable, Sendable {
    /// The description, with all candidates.
    public var text: String
    /// The client's ICE user fragment, of the offer. Other ones are of another ICE session (RFC 8840 §4.4).
    public var remoteUfrag: String

    public init(text: String, remoteUfrag: String) {
        self.text = text
        self.remoteUfrag = remoteUfrag
    }
}

/// Our side of an ICE restart.
public struct ICERestart: Hashable, Sendable {
    public var ufrag: String
    public var password: String
    /// Lines `candidate:…`.
    public var candidates: [String]

    public init(ufrag: String, password: String, candidates: [String]) {
        self.ufrag = ufrag
        self.password = password
        self.candidates = candidates
    }
}
