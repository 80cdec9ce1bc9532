package import Codecs
package import Mixing
package import Peer

/// The state of a room, as far as its media need it, at one moment.
package struct Scene: Sendable {
    /// One picture of a participant and its audio: what a tile shows. The screen of a participant who sends it beside
    /// the camera is a picture of its own, without audio.
    package struct Person: Sendable {
        /// The participant's, or `PictureID.screen(of:)`.
        package var id: String
        /// Whose connection sends the picture, and which of its pictures this is.
        package var sender: String
        package var source = VideoSource.camera
        package var name: String
        package var isShown: Bool
        package var sendsVideo: Bool
        package var sendsAudio: Bool
        package var isMuted: Bool
        package var hand: Bool
        package var isPresenting: Bool
        package var isPinned: Bool
        package var joinOrder: Int
        package var gain: Float
        /// The participant whose audio the mix leaves out: itself, or the one for whom it stands.
        package var hearsAs: String
        package var role = LayoutMember.Role.participant
        /// The identity in the participant's token.
        package var externalID: String?
        package var avatar: StillImage?
        /// Ascending in the order of pins and of the beginnings of presentations.
        package var pinOrder = 0
        package var presentOrder = 0
        /// Whether recordings, their tracks, streams and other taps have the participant's picture and audio.
        package var isRecorded = true
        /// The participants that it sees and hears, and that see and hear it.
        package var group = GroupID.main
        /// Other groups that it hears beside its own.
        package var alsoHears: Set<GroupID> = []
        /// Whether all groups hear it.
        package var isHeardEverywhere = false

        package init(
            id: String, name: String, isShown: Bool, sendsVideo: Bool, sendsAudio: Bool, isMuted: Bool, hand: Bool,
            isPresenting: Bool, isPinned: Bool, joinOrder: Int, gain: Float, hearsAs: String
        ) {
            self.id = id
            sender = id
            self.name = name
            self.isShown = isShown
            self.sendsVideo = sendsVideo
            self.sendsAudio = sendsAudio
            self.isMuted = isMuted
            self.hand = hand
            self.isPresenting = isPresenting
            self.isPinned = isPinned
            self.joinOrder = joinOrder
            self.gain = gain
            self.hearsAs = hearsAs
        }
    }

    package struct View: Sendable {
        /// nil: no layout has the chosen name, and the tiles stay.
        package var layout: Layout?
        /// In the order of the places that they get; nil: the persons' own `isPinned`.
        package var pins: [String]?
        /// The participant for whom alone the view is made; nil for a view that several may take.
        package var viewer: String?
        /// nil: the scene's.
        package var format: ViewFormat?
        /// Whether tiles show names; nil: as the layout says.
        package var names: Bool?
        /// Whether all who take the picture draw names and signs themselves: one that fills it alone then has none.
        package var takersDrawSigns = false
        /// Whether somebody takes the picture; without, it is arranged but not made.
        package var isUsed: Bool

        package init(
            layout: Layout? = nil, pins: [String]? = nil, format: ViewFormat? = nil, names: Bool? = nil,
            isUsed: Bool = true
        ) {
            self.layout = layout
            self.pins = pins
            self.format = format
            self.names = names
            self.isUsed = isUsed
        }
    }

    /// Who speaks. It changes several times a second, and nothing else of a scene with it.
    package struct Speech: Hashable, Sendable {
        /// The dominant speaker of each group.
        package var speakers: [GroupID: String] = [:]
        /// Of each participant among those of its group: the latest speaker first, and the loudest first.
        package var ranks: [String: Int] = [:]
        package var loudnessRanks: [String: Int] = [:]
        /// Everyone who speaks now.
        package var speaking: Set<String> = []

        package init() {}
    }

    /// The format of the views that have none of their own.
    package var width: Int
    package var height: Int
    package var framesPerSecond: Int
    package var people: [Person] = []
    /// The views in use, and `main` in any case.
    package var views: [ViewID: View]
    /// The view that each participant gets; without an entry, `main`.
    package var viewOf: [String: ViewID] = [:]
    package var speech = Speech()
    /// The room's name, as its picture shows it.
    package var room = ""
    /// How long tiles take to move to new places; zero: they are there at once.
    package var transition = Duration.zero
    /// Whether a picture that needs no mix may be sent as it came.
    package var passthrough = false

    package init(
        width: Int, height: Int, framesPerSecond: Int, people: [Person] = [], views: [ViewID: View],
        speaker: String? = nil, speakerRanks: [String: Int] = [:]
    ) {
        self.width = width
        self.height = height
        self.framesPerSecond = framesPerSecond
        self.people = people
        self.views = views
        speech.speakers = speaker.map { [.main: $0] } ?? [:]
        speech.ranks = speakerRanks
    }

    func format(of view: ViewID) -> ViewFormat {
        views[view]?.format ?? ViewFormat(width: width, height: height, framesPerSecond: framesPerSecond)
    }

    /// The smallest size that covers every view in use.
    var cover: (width: Int, height: Int) {
        let formats = views.filter(\.value.isUsed).keys.map { format(of: $0) }
        return (formats.map(\.width).max() ?? width, formats.map(\.height).max() ?? height)
    }

    /// The participants whose picture may be shown: the camera is on and not muted.
    var senders: Set<String> { Set(people.lazy.filter(\.sendsVideo).map(\.id)) }

    /// Those of a group that are shown.
    func senders(in group: GroupID) -> Set<String> {
        Set(people.lazy.filter { $0.sendsVideo && $0.isShown && $0.group == group }.map(\.id))
    }

    /// The groups in which somebody shares a screen, whose text must stay sharp.
    var groupsWithScreen: Set<GroupID> {
        Set(people.lazy.filter { $0.isPresenting && $0.sendsVideo && $0.isShown }.map(\.group))
    }

    /// The participants that get a tile, as the layout's members.
    func layoutMembers(for view: ViewID, aspect: (String) -> Double) -> [LayoutMember] {
        let pins = views[view]?.pins
        let speaker = speech.speakers[view.group]
        return people.filter { $0.isShown && $0.group == view.group }.map { person in
            var member = LayoutMember(
                id: person.id, isSpeaker: person.id == speaker, speakerRank: speech.ranks[person.id],
                isPresenting: person.isPresenting, hasVideo: person.sendsVideo, aspectRatio: aspect(person.id),
                joinOrder: person.joinOrder)
            member.name = person.name
            member.role = person.role
            member.externalID = person.externalID
            member.loudnessRank = speech.loudnessRanks[person.id]
            member.presentOrder = person.presentOrder
            member.pinOrder =
                if let pins { pins.firstIndex(of: person.id) } else { person.isPinned ? person.pinOrder : nil }
            return member
        }
    }
}
