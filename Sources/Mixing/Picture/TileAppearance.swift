package import Basics
package import Codecs

/// The content of a participant's tile.
package struct TileAppearance: Sendable {
    /// Whether the picture is live.
    package enum State: Sendable, Hashable {
        case live
        /// The last picture, dimmed and marked, because no new one was received for a while.
        case frozen
        /// Initials instead of a picture.
        case avatar
    }

    package var name: String
    /// The newest picture; nil shows the avatar.
    package var picture: Picture?
    /// How the picture must be rotated for display.
    package var rotation: Rotation
    /// A number that changes with every new picture.
    package var pictureGeneration: UInt64
    package var state: State
    package var isSpeaking: Bool
    package var isMuted: Bool
    package var handRaised: Bool
    /// Whether the picture is a shared screen, which the label has a sign of.
    package var isScreen = false
    /// Shown instead of initials.
    package var avatar: StillImage?
    /// Whether the tile has the sign of a participant who is left out of a recording.
    package var isLeftOut = false

    package init(
        name: String, picture: Picture? = nil, rotation: Rotation = .none, pictureGeneration: UInt64 = 0,
        state: State = .live,
        isSpeaking: Bool = false, isMuted: Bool = false, handRaised: Bool = false
    ) {
        self.name = name
        self.picture = picture
        self.rotation = rotation
        self.pictureGeneration = pictureGeneration
        self.state = state
        self.isSpeaking = isSpeaking
        self.isMuted = isMuted
        self.handRaised = handRaised
    }
}

/// The state that determines a tile's pixels, apart from its place.
struct Look: Equatable {
    var name: String
    var showsPicture: Bool
    var generation: UInt64
    var rotation: Rotation
    var state: TileAppearance.State
    var isSpeaking: Bool
    var isMuted: Bool
    var handRaised: Bool
    var isScreen: Bool
    var avatar: StillImage?
    var isLeftOut: Bool

    init(_ appearance: TileAppearance) {
        let showsPicture = appearance.picture != nil && appearance.state != .avatar
        name = appearance.name
        // New pictures behind an avatar are not visible.
        self.showsPicture = showsPicture
        generation = showsPicture ? appearance.pictureGeneration : 0
        rotation = showsPicture ? appearance.rotation : .none
        state = showsPicture ? appearance.state : .avatar
        isSpeaking = appearance.isSpeaking
        isMuted = appearance.isMuted
        handRaised = appearance.handRaised
        isScreen = appearance.isScreen
        avatar = showsPicture ? nil : appearance.avatar
        isLeftOut = appearance.isLeftOut
    }
}
