import Codecs
import Testing

@testable import Mixing

@Suite("The sign of who is left out of a recording")
struct LeftOutSignTests {
    private func avatar(_ style: TileStyle = TileStyle(), isLeftOut: Bool) throws -> (picture: Picture, tile: Tile) {
        let arranged = try shipped("grid").arrange(people(1), canvasWidth: 640, canvasHeight: 360, previous: [])
        let compositor = Compositor(width: 640, height: 360)
        compositor.style = style
        let canvas = try #require(
            compositor.compose(arranged) { _ in
                var appearance = TileAppearance(name: "Ada", state: .avatar)
                appearance.isLeftOut = isLeftOut
                return appearance
            })
        return (canvas, try #require(arranged.tiles.first))
    }

    /// The corner of the rectangle in which two pictures differ, in sixteenths of the tile.
    private func difference(_ style: TileStyle) throws -> (x: Int, y: Int, width: Int, height: Int) {
        let (with, tile) = try avatar(style, isLeftOut: true)
        let without = try avatar(style, isLeftOut: false).picture
        var (left, right, top, bottom) = (Int.max, 0, Int.max, 0)
        for y in 0..<360 {
            for x in 0..<640 where with.y[y * with.yStride + x] != without.y[y * without.yStride + x] {
                (left, right, top, bottom) = (min(left, x), max(right, x), min(top, y), max(bottom, y))
            }
        }
        try #require(right > 0, "there is no sign")
        return (
            (left - tile.x) * 16 / tile.width, (top - tile.y) * 16 / tile.height, right - left + 1, bottom - top + 1
        )
    }

    @Test("It is a small disc in the upper left corner, and in the lower one where the label is above")
    func place() throws {
        let above = try difference(TileStyle())
        #expect(above.x == 0 && above.y == 0 && (18...40).contains(above.width) && (18...40).contains(above.height))
        var style = TileStyle()
        style.label.place = .topLeft
        let below = try difference(style)
        #expect(below.x == 0 && below.y >= 13)
    }

    @Test("A tile that gets the sign is drawn anew")
    func change() throws {
        let arranged = try shipped("grid").arrange(people(1), canvasWidth: 640, canvasHeight: 360, previous: [])
        let compositor = Compositor(width: 640, height: 360)
        var appearance = TileAppearance(name: "Ada", state: .avatar)
        #expect(compositor.compose(arranged) { _ in appearance } != nil)
        #expect(compositor.compose(arranged) { _ in appearance } == nil)
        appearance.isLeftOut = true
        #expect(compositor.compose(arranged) { _ in appearance } != nil)
    }
}
