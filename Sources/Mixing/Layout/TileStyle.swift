/// The look of all tiles of a layout.
package struct TileStyle: Hashable, Sendable {
    /// The width of borders, as a fraction of the canvas' shorter side: 4 of 720 pixels.
    package var borderWidth = 1.0 / 180
    /// The border of tiles; nil: only those of speaking participants have one.
    package var border: Colour?
    /// The border of a speaking participant's tile.
    package var speaking = Colour(0x4ADE80)
    /// The radius of the corners, as a fraction of the canvas' shorter side.
    package var radius = 0.0
    package var label = LabelStyle()

    package init() {}

    /// The width of borders on a canvas whose shorter side has this many pixels: even, so that chroma and luma end at
    /// the same pixel.
    func borderPixels(_ side: Int) -> Int { max(2, Int((borderWidth * Double(side) / 2).rounded()) * 2) }

    func radiusPixels(_ side: Int) -> Int { Int((radius * Double(side) / 2).rounded()) * 2 }
}

/// The look of names and of the sign of muted microphones.
package struct LabelStyle: Hashable, Sendable {
    package enum Place: String, Hashable, Sendable, CaseIterable {
        case topLeft = "top-left"
        case top
        case topRight = "top-right"
        case bottomLeft = "bottom-left"
        case bottom
        case bottomRight = "bottom-right"

        var isTop: Bool { self == .topLeft || self == .top || self == .topRight }
    }

    package var place = Place.bottomLeft
    /// The height of letters' line as a fraction of the canvas' shorter side; nil: by the size of the tile.
    package var size: Double?
    package var paint = LabelPaint()

    package init() {}
}

/// The colours of a label.
package struct LabelPaint: Hashable, Sendable {
    package var colour = Colour(0xFFFFFF)
    package var background = Colour(0x0D0F14)
    /// Of the background, 0…1.
    package var opacity = 0.66

    package init() {}
}
