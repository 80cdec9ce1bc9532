/// The tiles of the picture that a participant receives, in canvas pixels.
package struct TilesInfo: Hashable, Sendable {
    package struct Tile: Hashable, Sendable {
        package var participant: String
        /// Whether the tile shows the screen that the participant sends beside the camera.
        package var isScreen = false
        package var x: Int
        package var y: Int
        package var width: Int
        package var height: Int
        /// Whether the picture itself shows the name.
        package var label = true
        /// Whether the picture itself shows who is muted or raises a hand.
        package var signs = true

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
    package var width: Int
    package var height: Int
    package var tiles: [Tile]

    package init(width: Int, height: Int, tiles: [Tile]) {
        self.width = width
        self.height = height
        self.tiles = tiles
    }
}
