import Codecs

/// One participant's rectangle on the canvas, in pixels; all four numbers are even, so that chroma has whole samples.
public struct Tile: Hashable, Sendable {
    public var member: String
    public var x, y, width, height: Int
    public var fit: TileFit
    /// The stacking order: a higher tile covers a lower one.
    public var z: Int
    public var showsName: Bool

    public init(
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
