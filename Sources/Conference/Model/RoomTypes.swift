public import Basics
public import FoundationEssentials
import Mixing
public import Recording
public import RoomMedia

/// The settings of a room.
public struct RoomSettings: Hashable, Sendable {
    public var layout = "grid"
    /// The layout while somebody presents.
    public var onPresent = OnPresent.layout("presentation")
    /// The canvas, in pixels.
    public var width = 1280
    public var height = 720
    public var framesPerSecond = 30
    /// Whether new participants are refused.
    public var locked = false
    /// Whether only moderators may change the layout of the room.
    public var layoutLocked = false
    public var admit = Admission.anyone
    /// nil: none is needed.
    public var pin: RoomPIN?
    /// The most members except viewers.
    public var maxParticipants = 50
    public var maxViewers = 500
    /// Whether the room is streamed to players of HLS, who hold no seat.
    public var hls = false
    /// The named views beside `main`, by their names. `portrait` exists without an entry, too.
    public var views: [String: ViewSettings] = [:]
    /// How long tiles take to move to new places; zero: they are there at once.
    public var transition = Duration.milliseconds(200)

    public init() {}

    /// What everyone in the room knows of it.
    public var access: RoomAccess {
        RoomAccess(locked: locked, layoutLocked: layoutLocked, admit: admit, hasPIN: pin != nil, hls: hls)
    }

    /// Whether outsiders may not see who is in the room.
    public var isPrivate: Bool { pin != nil || admit == .moderator }

    /// The allowed ranges, for the checks here, the keys of the settings file and the description of the API.
    public struct Allowed: Sendable {
        /// In pixels, even.
        public let width = 160...3840
        public let height = 90...2160
        public let framesPerSecond = 1...60
        public let maxParticipants = 1...1000
        public let maxViewers = 0...5000
    }
    public static let allowed = Allowed()
}

/// A change of a room's settings; nil leaves a value as it is.
public struct RoomSettingsChange: Hashable, Sendable {
    public var layout: String?
    public var onPresent: OnPresent?
    public var width: Int?
    public var height: Int?
    public var framesPerSecond: Int?
    public var locked: Bool?
    public var layoutLocked: Bool?
    public var admit: Admission?
    /// Empty: the room needs none any more.
    public var pin: String?
    public var maxParticipants: Int?
    public var maxViewers: Int?
    public var hls: Bool?
    /// Views to add or to replace; nil as a value removes one.
    public var views: [String: ViewSettings?] = [:]

    public init() {}
}

/// What everyone in a room knows of its settings.
public struct RoomAccess: Hashable, Sendable {
    public var locked = false
    public var layoutLocked = false
    public var admit = Admission.anyone
    public var hasPIN = false
    /// Whether others may watch by HLS.
    public var hls = false

    public init(
        locked: Bool = false, layoutLocked: Bool = false, admit: Admission = .anyone, hasPIN: Bool = false,
        hls: Bool = false
    ) {
        self.locked = locked
        self.layoutLocked = layoutLocked
        self.admit = admit
        self.hasPIN = hasPIN
        self.hls = hls
    }
}

/// A room as clients see it.
public struct RoomInfo: Sendable {
    public var id: String
    public var settings: RoomSettings
    public var participants: [ParticipantInfo]
    /// The number of those who wait to be let in.
    public var waiting = 0
    public var tiles: TilesInfo
    public var renditions: [RenditionInfo]
    /// The named views, `main` first, and the choices that participants have made for themselves.
    public var views: [ViewInfo] = []
    /// Those that run or are paused, in the order of their starts.
    public var recordings: [RecordingInfo] = []
    /// The one that clients of a single recording are shown.
    public var recording: RecordingInfo? { recordings.shown }
    /// The time that a recording of this room would begin before its start.
    public var preRoll: Duration = .zero
    /// Whether the room is streamed to another server.
    public var isStreamed = false
    public var createdAt: Date
    /// The name of the chosen layout, as in `settings.layout`.
    public var layout: String { settings.layout }
}

/// The view that a choice of a layout is for: the room's or the participant's own.
public enum LayoutScope: String, Sendable, CaseIterable { case room, me }

public enum Role: String, Sendable, CaseIterable, Hashable {
    case participant, presenter, moderator, viewer
}

/// A participant as others see it.
public struct ParticipantInfo: Hashable, Sendable {
    public var id: String
    public var name: String
    public var role: Role
    /// Whether the participant sends audio and video: switched on by the participant and not muted by a moderator.
    public var audio: Bool
    public var video: Bool
    public var hand: Bool
    public var speaking: Bool
    public var presenting: Bool
    /// Muted by a moderator.
    public var audioMuted: Bool
    public var videoMuted: Bool
    public var pinned: Bool
    /// The gain in the mix; 1: unchanged.
    public var volume: Double
    /// Who decided that the participant is left out of what leaves the room; empty: it is recorded.
    public var unrecordedBy: [RecordingRefusal] = []

    public var recorded: Bool { unrecordedBy.isEmpty }
    /// Whether it is a source that the server pulls, and no person.
    public var isInput = false
}

/// Moderation of one participant; nil leaves a value as it is.
public struct ParticipantChange: Hashable, Sendable {
    /// Of the gain in the mix; 1: unchanged.
    public static let allowedVolume = 0.0...4.0

    public var audioMuted: Bool?
    public var videoMuted: Bool?
    public var pinned: Bool?
    public var role: Role?
    public var volume: Double?
    public var name: String?
    /// Whether recordings, streams and other uses of the room's output have the participant.
    public var recorded: Bool?

    public init() {}
}

public struct RenditionInfo: Hashable, Sendable {
    /// The name of the view.
    public var view = ViewSettings.main
    public var codec: VideoCodec
    /// `rung`, `screen` (a rung while a screen is shared), `stills`, or `joining` (for those who wait for a keyframe).
    public var kind: String
    public var width: Int
    public var height: Int
    public var framesPerSecond: Int
    public var bitRate: BitRate
    /// The number of peers and recordings that take it.
    public var members: Int
    /// Whether it is what leaves the room, without participants who are not recorded.
    public var isOutgoing = false
}

public struct LayoutInfo: Hashable, Sendable {
    /// A part of the canvas, in fractions of its width and height.
    public struct Frame: Hashable, Sendable {
        public var x, y, width, height: Double
    }

    public var name: String
    public var description: String
    /// The tiles of an example, the lowest first: five people on a canvas of 16:9, of whom one shares a screen and
    /// speaks.
    public var example: [Frame] = []
}

extension [RecordingInfo] {
    /// Of a room's recordings the one that clients of a single recording are shown: the first that runs, so that nobody
    /// takes a recorded room for a paused one; else the first.
    public var shown: RecordingInfo? { first { $0.state == .recording } ?? first }
}

/// What a recording to be started has.
public struct RecordingWish: Hashable, Sendable {
    /// A named view of the room; nil: the one that recordings take.
    public var view: String?
    /// Whether the file has audio alone.
    public var audioOnly: Bool
    /// Whether each participant's audio and pictures are written beside it; nil: as `recording.tracks` says.
    public var tracks: Bool?

    public init(view: String? = nil, audioOnly: Bool = false, tracks: Bool? = nil) {
        self.view = view
        self.audioOnly = audioOnly
        self.tracks = tracks
    }
}

public struct RecordingInfo: Hashable, Sendable {
    /// `repairing`: a crash left the recording open, and the server closes it.
    public enum State: String, Sendable, CaseIterable { case recording, paused, finished, failed, repairing }
    public var id: String
    public var room: String
    /// The name of the file; `Conference.recordingPath` returns its path.
    public var file: String
    public var state: State
    public var startedAt: Date
    /// The time before `startedAt` that the recording has too (`recording.preRoll`).
    public var preRoll: Duration = .zero
    /// The duration of the media, without pauses.
    public var duration: Duration?
    /// Of all parts together.
    public var bytes: Int?
    /// The complete files, in order; while the recording runs those before the current one (`recording.segment`).
    public var files: [RecordingPart] = []
    /// The view whose picture it has; nil where it is audio alone, and in entries of older versions.
    public var view: String?
    /// Whether its file is audio alone.
    public var audioOnly = false
    /// The files of single participants, in the order of their beginnings.
    public var tracks: [RecordingTrack] = []
    /// Frames and audio blocks that a slow disk lost.
    public var dropped = RecordingLosses()
    /// Whether a crash left the recording open and a later start closed it.
    public var isRepaired = false
    /// Why the recording failed or ended early.
    public var failure: String?
    /// The recording that this one goes on with, which ran at another server before the room came here; nil: none.
    var continues: RecordingSeries?
    /// The id of the first recording of the meeting's part of which this is a part: this one's own, unless the room was
    /// moved while it was recorded.
    public var series: String { continues?.id ?? id }
    /// The number among the recordings of the series, from 1 on.
    public var partOfSeries: Int { continues?.part ?? 1 }
    /// How far the recording is on its way to where it is kept; nil: it is not to be delivered.
    public var delivery: RecordingDelivery?

    /// The same without the files of single participants, whose names are not for everybody who may know of the
    /// recording.
    public var withoutTracks: RecordingInfo {
        var info = self
        info.tracks = []
        return info
    }

    /// The number of complete files; at least 1.
    public var parts: Int { max(1, files.count) }
}

/// The answer to a client's offer.
public struct SDPAnswer: Hashable, Sendable {
    /// The description, with all candidates.
    public var text: String
    /// The client's ICE user fragment in the offer. Candidates with another one belong to another ICE session (RFC 8840
    /// §4.4).
    public var remoteUfrag: String

    public init(text: String, remoteUfrag: String) {
        self.text = text
        self.remoteUfrag = remoteUfrag
    }
}

/// The server's side of an ICE restart.
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
