/// What a rendition of a view is for.
package enum RenditionKind: Hashable, Sendable {
    /// A step of the ladder: an index into it, 0 at the top.
    case rung(Int)
    /// A picture now and then.
    case stills
    /// The picture of those who wait for a rung's next keyframe. A keyframe of it costs only others who wait too.
    case joining

    /// The name in metrics and figures.
    package var name: String {
        switch self {
        case .rung: "rung"
        case .stills: "stills"
        case .joining: "joining"
        }
    }
}

extension RenditionSelector.Choice {
    /// nil: audio alone.
    package var kind: RenditionKind? {
        switch self {
        case .rung(let index): .rung(index)
        case .stills: .stills
        case .audioOnly: nil
        }
    }
}
