import Codecs

/// One participant's rectangle on the canvas, in pixels; all four numbers are even, so that chroma has whole samples.
package struct Tile: Hashable, Sendable {
    package var member: String
    package var x, y, width, height: Int
    package var fit: TileFit
    /// The stacking order: a higher tile covers a lower one.
    package var z: Int
    package var showsName: Bool

    package init(
        member: String, x: Int, y: Int, width: Int, height: Int, fit: TileFit = .auto, z: Int = 0,
        showsName: Bool = true
    ) {
        self.member = member
        self.x = x
        self.y = y
        self.width = width
        self.height = height
        self.fit = fit
        self.z = z
        self.showsName = showsName
    }

    var frame: PixelRectangle { PixelRectangle(x: x, y: y, width: width, height: height) }
}
