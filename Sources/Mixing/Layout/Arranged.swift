public import Codecs

/// The result of an arrangement: the tiles, the parts without participants, and the numbers that these show.
public struct Arranged: Hashable, Sendable {
    /// The lowest first.
    public var tiles: [Tile] = []
    public var ornaments: [Ornament] = []
    /// The number of people who may have a tile.
    public var people = 0
    /// How many of them have none.
    public var hidden = 0
    /// The name of the active speaker while that one has no tile.
    public var hiddenSpeaker: String?

    public init() {}
}

/// A part of the picture that shows no participant. All four numbers of its frame are even.
public struct Ornament: Hashable, Sendable {
    public enum Content: Hashable, Sendable {
        case text(LayoutText)
        case image(LayoutImage)
        /// The number of people without a tile, and who of them speaks.
        case more
    }

    public var content: Content
    public var frame: PixelRectangle
    /// The stacking order among tiles and ornaments; an ornament covers the tiles of its layer.
    public var z: Int

    /// Whether it lies behind all tiles.
    var isBehind: Bool {
        if case .image(let image) = content { image.isBehind } else { false }
    }
}
