package import Codecs

/// The result of an arrangement: the tiles, the parts without participants, and the numbers that these show.
package struct Arranged: Hashable, Sendable {
    /// The lowest first.
    package var tiles: [Tile] = []
    package var ornaments: [Ornament] = []
    /// The number of people who may have a tile.
    package var people = 0
    /// How many of them have none.
    package var hidden = 0
    /// The name of the active speaker while that one has no tile.
    package var hiddenSpeaker: String?

    package init() {}
}

/// A part of the picture that shows no participant. All four numbers of its frame are even.
package struct Ornament: Hashable, Sendable {
    package enum Content: Hashable, Sendable {
        case text(LayoutText)
        case image(LayoutImage)
        /// The number of people without a tile, and who of them speaks.
        case more
    }

    package var content: Content
    package var frame: PixelRectangle
    /// The stacking order among tiles and ornaments; an ornament covers the tiles of its layer.
    package var z: Int

    /// Whether it lies behind all tiles.
    var isBehind: Bool {
        if case .image(let image) = content { image.isBehind } else { false }
    }
}
