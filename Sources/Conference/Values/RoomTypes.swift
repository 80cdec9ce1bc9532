package import Basics
package import FoundationEssentials
import Mixing
package import Recording
package import RoomMedia

/// The settings of a room.
package struct RoomSettings: Hashable, Sendable {
    package var layout = "grid"
    /// The layout while somebody presents.
    package var onPresent = OnPresent.layout("presentation")
    /// The canvas, in pixels.
    package var width = 1280
    package var height = 720
    package var framesPerSecond = 30
    /// Whether new participants are refused.
    package var locked = false
    /// Whether only moderators may change the layout of the room.
    package var layoutLocked = false
    package var admit = Admission.anyone
    package var policy = RoomPolicy()
    /// nil: none is needed.
    package var pin: RoomPIN?
    /// The most members except viewers.
    package var maxParticipants = 50
    package var maxViewers = 500
    /// Whether the room is streamed to players of HLS, who hold no seat.
    package var hls = false
    /// The named views beside `main`, by their names. `portrait` exists without an entry, too.
    package var views: [String: ViewSettings] = [:]
    /// How long tiles take to move to new places; zero: they are there at once.
    package var transition = Duration.milliseconds(200)
    /// Whether in a call of two each gets a picture without itself (`CallOfTwo`).
    package var withoutSelf = true
    package var passthrough = Passthrough.auto

    /// Whether the coded frames of a sender whose tile fills a view, without anything drawn over it, go to the viewers as
    /// they came; `off`: every picture is composed and encoded.
    package enum Passthrough: String, Sendable, CaseIterable { case auto, off }

    package init() {}

    /// What everyone in the room knows of it.
    package var access: RoomAccess {
        RoomAccess(
            locked: locked, layoutLocked: layoutLocked, admit: admit, hasPIN: pin != nil, hls: hls, policy: policy)
    }

    /// Whether outsiders may not see who is in the room.
    package var isPrivate: Bool { pin != nil || admit == .moderator }

    /// The allowed ranges, for the checks here, the keys of the settings file and the description of the API.
    package struct Allowed: Sendable {
        /// In pixels, even.
        package let width = 160...3840
        package let height = 90...2160
        package let framesPerSecond = 1...60
        package let maxParticipants = 1...1000
        package let maxViewers = 0...5000
    }
    package static let allowed = Allowed()
}

/// A change of a room's settings; nil leaves a value as it is.
package struct RoomSettingsChange: Hashable, Sendable {
    package var layout: String?
    package var onPresent: OnPresent?
    package var width: Int?
    package var height: Int?
    package var framesPerSecond: Int?
    package var locked: Bool?
    package var layoutLocked: Bool?
    package var admit: Admission?
    package var muteOnEntry: Bool?
    package var share: RoomPolicy.Permission?
    package var chat: RoomPolicy.Permission?
    package var unmute: RoomPolicy.Permission?
    /// Empty: the room needs none any more.
    package var pin: String?
    /// The key of the room's host (`HostKey`), in place of all others; empty: there is none any more.
    package var hostKey: String?
    package var maxParticipants: Int?
    package var maxViewers: Int?
    package var hls: Bool?
    /// Views to add or to replace; nil as a value removes one.
    package var views: [String: ViewSettings?] = [:]

    package init() {}
}

/// What everyone in a room knows of its settings.
package struct RoomAccess: Hashable, Sendable {
    package var locked = false
    package var layoutLocked = false
    package var admit = Admission.anyone
    package var hasPIN = false
    /// Whether others may watch by HLS.
    package var hls = false
    package var policy = RoomPolicy()

    package init(
        locked: Bool = false, layoutLocked: Bool = false, admit: Admission = .anyone, hasPIN: Bool = false,
        hls: Bool = false, policy: RoomPolicy = RoomPolicy()
    ) {
        self.policy = policy
        self.locked = locked
        self.layoutLocked = layoutLocked
        self.admit = admit
        self.hasPIN = hasPIN
        self.hls = hls
    }
}

/// A room as clients see it.
package struct RoomInfo: Sendable {
    package var id: String
    package var settings: RoomSettings
    package var participants: [ParticipantInfo]
    /// The number of those who wait to be let in.
    package var waiting = 0
    /// Whether there are keys of hosts, whose holders are moderators.
    package var hasHostKey = false
    package var tiles: TilesInfo
    package var renditions: [RenditionInfo]
    /// The named views, `main` first, and the choices that participants have made for themselves.
    package var views: [ViewInfo] = []
    /// Those that run or are paused, in the order of their starts.
    package var recordings: [RecordingInfo] = []
    /// The one that clients of a single recording are shown.
    package var recording: RecordingInfo? { recordings.shown }
    /// The time that a recording of this room would begin before its start.
    package var preRoll: Duration = .zero
    /// Whether the room is streamed to another server.
    package var isStreamed = false
    package var createdAt: Date
    /// The name of the chosen layout, as in `settings.layout`.
    package var layout: String { settings.layout }
}

/// The view that a choice of a layout is for: the room's or the participant's own.
package enum LayoutScope: String, Sendable, CaseIterable { case room, me }

package enum Role: String, Sendable, CaseIterable, Hashable {
    case participant, presenter, moderator, viewer
}

/// A participant as others see it.
package struct ParticipantInfo: Hashable, Sendable {
    package var id: String
    package var name: String
    package var role: Role
    /// Whether the participant sends audio and video: switched on by the participant and not muted by a moderator.
    package var audio: Bool
    package var video: Bool
    package var hand: Bool
    /// Of those who have raised a hand: ascending in the order in which they did; nil: it is down.
    package var handOrder: Int?
    package var speaking: Bool
    package var presenting: Bool
    /// Muted by a moderator.
    package var audioMuted: Bool
    package var videoMuted: Bool
    package var pinned: Bool
    /// The gain in the mix; 1: unchanged.
    package var volume: Double
    /// Who decided that the participant is left out of what leaves the room; empty: it is recorded.
    package var unrecordedBy: [RecordingRefusal] = []

    package var recorded: Bool { unrecordedBy.isEmpty }
    /// Whether it is a source that the server pulls, and no person.
    package var isInput = false
    /// What it says to send, and the server has not got for some seconds.
    package var missing: MediaKinds = []
    /// The number of the breakout group that it is in; 0: the room itself.
    package var group = 0
}

/// Moderation of one participant; nil leaves a value as it is.
package struct ParticipantChange: Hashable, Sendable {
    /// Of the gain in the mix; 1: unchanged.
    package static let allowedVolume = 0.0...4.0

    package var audioMuted: Bool?
    package var videoMuted: Bool?
    package var pinned: Bool?
    package var role: Role?
    package var volume: Double?
    package var name: String?
    /// Whether recordings, streams and other uses of the room's output have the participant.
    package var recorded: Bool?

    package init() {}
}

package struct RenditionInfo: Hashable, Sendable {
    /// The name of the view.
    package var view = ViewSettings.main
    package var codec: VideoCodec
    /// `rung`, `screen` (a rung while a screen is shared), `stills`, or `joining` (for those who wait for a keyframe).
    package var kind: String
    package var width: Int
    package var height: Int
    package var framesPerSecond: Int
    package var bitRate: BitRate
    /// The number of peers and recordings that take it.
    package var members: Int
    /// Whether it is what leaves the room, without participants who are not recorded.
    package var isOutgoing = false
}

package struct LayoutInfo: Hashable, Sendable {
    /// A part of the canvas, in fractions of its width and height.
    package struct Frame: Hashable, Sendable {
        package var x, y, width, height: Double
    }

    package var name: String
    package var description: String
    /// The description in other languages, by their tags.
    package var descriptions: [String: String] = [:]
    /// The tiles of an example, the lowest first: five people on a canvas of 16:9, of whom one shares a screen and
    /// speaks.
    package var example: [Frame] = []
}

extension [RecordingInfo] {
    /// Of a room's recordings the one that clients of a single recording are shown: the first that runs, so that nobody
    /// takes a recorded room for a paused one; else the first.
    package var shown: RecordingInfo? { first { $0.state == .recording } ?? first }
}

/// What a recording to be started has.
package struct RecordingRequest: Hashable, Sendable {
    /// A named view of the room; nil: the one that recordings take.
    package var view: String?
    /// Whether the file has audio alone.
    package var audioOnly: Bool
    /// Whether each participant's audio and pictures are written beside it; nil: as `recording.tracks` says.
    package var tracks: Bool?
    /// The number of the breakout group that it is of; 0: the room itself.
    package var group: Int

    package init(view: String? = nil, audioOnly: Bool = false, tracks: Bool? = nil, group: Int = 0) {
        self.view = view
        self.audioOnly = audioOnly
        self.tracks = tracks
        self.group = group
    }
}

package struct RecordingInfo: Hashable, Sendable {
    /// `repairing`: a crash left the recording open, and the server closes it.
    package enum State: String, Sendable, CaseIterable { case recording, paused, finished, failed, repairing }
    package var id: String
    package var room: String
    /// The name of the file; `Conference.recordingPath` returns its path.
    package var file: String
    package var state: State
    package var startedAt: Date
    /// The time before `startedAt` that the recording has too (`recording.preRoll`).
    package var preRoll: Duration = .zero
    /// The duration of the media, without pauses.
    package var duration: Duration?
    /// Of all parts together.
    package var bytes: Int?
    /// The complete files, in order; while the recording runs those before the current one (`recording.segment`).
    package var files: [RecordingPart] = []
    /// The view whose picture it has; nil where it is audio alone, and in entries of older versions.
    package var view: String?
    /// Whether its file is audio alone.
    package var audioOnly = false
    /// The breakout group that it is of; nil: the room itself.
    package var group: RecordedGroup?
    /// The files of single participants, in the order of their beginnings.
    package var tracks: [RecordingTrack] = []
    /// How smooth its picture is; nil where it is audio alone, and in entries of older versions.
    package var frames: RecordingFrames?
    /// Frames and audio blocks that a slow disk lost.
    package var dropped = RecordingLosses()
    /// What somebody called it; nil: nothing.
    package var title: String?
    /// Whether a crash left the recording open and a later start closed it.
    package var isRepaired = false
    /// Why the recording failed or ended early.
    package var failure: String?
    /// When it ended, and by what; nil while it runs, and of recordings of older versions.
    package var endedAt: Date?
    package var endedBy: RecordingEnd?
    /// The recording that this one goes on with, which ran at another server before the room came here; nil: none.
    var continues: RecordingSeries?
    /// The id of the first recording of the meeting's part of which this is a part: this one's own, unless the room was
    /// moved while it was recorded.
    package var series: String { continues?.id ?? id }
    /// The number among the recordings of the series, from 1 on.
    package var partOfSeries: Int { continues?.part ?? 1 }
    /// How far the recording is on its way to where it is kept; nil: it is not to be delivered.
    package var delivery: RecordingDelivery?

    /// The same without the files of single participants, whose names are not for everybody who may know of the
    /// recording.
    package var withoutTracks: RecordingInfo {
        var info = self
        info.tracks = []
        return info
    }

    /// The number of complete files; at least 1.
    package var parts: Int { max(1, files.count) }
}

/// The answer to a client's offer.
package struct SDPAnswer: Hashable, Sendable {
    /// The description, with all candidates.
    package var text: String
    /// The client's ICE user fragment in the offer. Candidates with another one belong to another ICE session (RFC 8840
    /// §4.4).
    package var remoteUfrag: String

    package init(text: String, remoteUfrag: String) {
        self.text = text
        self.remoteUfrag = remoteUfrag
    }
}

/// The server's side of an ICE restart.
package struct ICERestart: Hashable, Sendable {
    package var ufrag: String
    package var password: String
    /// Lines `candidate:…`.
    package var candidates: [String]

    package init(ufrag: String, password: String, candidates: [String]) {
        self.ufrag = ufrag
        self.password = password
        self.candidates = candidates
    }
}
