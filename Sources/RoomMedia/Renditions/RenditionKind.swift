/// What a rendition of a view is for.
package enum RenditionKind: Hashable, Sendable {
    /// A step of the ladder: an index into it, 0 at the top.
    case rung(Int)
    /// A step below the top while a screen is shared: the canvas' size with few frames, so that text can be read.
    case screen(Int)
    /// A picture now and then.
    case stills
    /// The picture of those who wait for a rung's next keyframe. A keyframe of it costs only others who wait too.
    case joining
    /// The frames of one picture of a participant as they came, by the picture's id (`PictureID`).
    case forwarded(String)

    /// The name in metrics and figures.
    package var name: String {
        switch self {
        case .rung: "rung"
        case .screen: "screen"
        case .stills: "stills"
        case .joining: "joining"
        case .forwarded: "forwarded"
        }
    }

    /// The id of the picture whose frames are the sender's own; nil: they are encoded.
    package var forwardedPicture: String? { if case .forwarded(let picture) = self { picture } else { nil } }
    package var isForwarded: Bool { forwardedPicture != nil }
}

extension Ladder {
    /// What a peer gets by its choice; nil: audio alone.
    ///
    /// - Parameters:
    ///   - hasScreen: whether somebody shares a screen.
    ///   - isThin: whether it is made in AV1 (`ThinCodec`), in which the lowest rung has a screen too.
    package func kind(of choice: RenditionSelector.Choice, hasScreen: Bool, isThin: Bool = false) -> RenditionKind? {
        switch choice {
        case .rung(let index):
            hasScreen && (screens[index] != nil || isThin && index == rungs.count - 1) ? .screen(index) : .rung(index)
        case .stills, .rareStills: .stills
        case .audioOnly: nil
        }
    }
}
