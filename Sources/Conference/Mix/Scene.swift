import Mixing

/// Which picture: the room's, or one that some participants have chosen for themselves. Who chose the same shares it.
enum ViewID: Hashable, Sendable {
    case room
    case personal(Member.PersonalView)
}

/// All that the mix of a room must know of its state, as it was at one moment.
struct Scene: Sendable {
    struct Person: Sendable {
        var id: String
        var name: String
        var isShown: Bool
        var sendsVideo: Bool
        var sendsAudio: Bool
        var isMuted: Bool
        var hand: Bool
        var isSpeaking: Bool
        var isPresenting: Bool
        var isPinned: Bool
        var joinOrder: Int
        var gain: Float
        /// Whose sound it does not hear: its own, or that of whom it stands for.
        var hearsAs: String
    }

    struct View: Sendable {
        /// nil: there is none of that name, and the tiles stay.
        var layout: Layout?
        /// nil: the persons' own `isPinned`.
        var pins: [String]?
    }

    var width: Int
    var height: Int
    var framesPerSecond: Int
    var people: [Person] = []
    var views: [ViewID: View]
    var speaker: String?
    var speakerRanks: [String: Int] = [:]

    /// Whose picture is to be seen: the camera is on, and nobody muted it.
    var senders: Set<String> { Set(people.lazy.filter(\.sendsVideo).map(\.id)) }

    /// Those with a tile, as the layout wants to know them.
    func layoutMembers(for view: ViewID, aspect: (String) -> Double) -> [LayoutMember] {
        let pins = views[view]?.pins
        return people.filter(\.isShown).map { person in
            LayoutMember(
                id: person.id, isSpeaker: person.id == speaker, speakerRank: speakerRanks[person.id],
                isPresenting: person.isPresenting, isPinned: pins?.contains(person.id) ?? person.isPinned,
                hasVideo: person.sendsVideo, aspectRatio: aspect(person.id), joinOrder: person.joinOrder)
        }
    }
}
