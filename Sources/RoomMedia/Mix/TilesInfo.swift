/// The tiles of the picture that a participant receives, in canvas pixels.
public struct TilesInfo: Hashable, Sendable {
    public struct Tile: Hashable, Sendable {
        public var participant: String
        /// Whether the tile shows the screen that the participant sends beside the camera.
        public var isScreen = false
        public var x: Int
        public var y: Int
        public var width: Int
        public var height: Int
        /// Whether the picture itself shows the name.
        public var label = true

        /// The id of the tile's picture in the scene.
        package var picture: String { isScreen ? PictureID.screen(of: participant) : participant }

        package init(participant: String, x: Int, y: Int, width: Int, height: Int, label: Bool = true) {
            self.participant = participant
            self.x = x
            self.y = y
            self.width = width
            self.height = height
            self.label = label
        }
    }
    public var width: Int
    public var height: Int
    public var tiles: [Tile]

    package init(width: Int, height: Int, tiles: [Tile]) {
        self.width = width
        self.height = height
        self.tiles = tiles
    }
}
