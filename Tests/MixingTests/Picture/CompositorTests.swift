import Basics
import Codecs
import Testing

@testable import Mixing

@Suite("Compositor") struct CompositorTests {
    private func plain(_ luma: UInt8, width: Int = 640, height: Int = 360) -> Picture {
        let picture = Picture(width: width, height: height)
        picture.fill(y: luma, u: 128, v: 128)
        return picture
    }

    private func luma(_ picture: Picture, _ x: Int, _ y: Int) -> UInt8 { picture.y[y * picture.yStride + x] }

    @Test("Each participant is drawn inside their tile only") func places() throws {
        let arranged = try shipped("grid").arrange(people(4), canvasWidth: 640, canvasHeight: 360, previous: [])
        let tiles = arranged.tiles
        let pictures = Dictionary(uniqueKeysWithValues: (1...4).map { ("\($0)", plain(UInt8(40 * $0))) })
        let compositor = Compositor(width: 640, height: 360, background: Colour(red: 0, green: 0, blue: 0))
        let canvas = try #require(
            compositor.compose(arranged) { TileAppearance(name: "", picture: pictures[$0], pictureGeneration: 1) })
        for y in 0..<360 {
            for x in 0..<640 {
                let tile = tiles.first { x >= $0.x && x < $0.x + $0.width && y >= $0.y && y < $0.y + $0.height }
                let expected = tile.flatMap { UInt8($0.member) }.map { $0 * 40 } ?? 16
                // The scaler may round by one.
                if abs(Int(luma(canvas, x, y)) - Int(expected)) > 1 {
                    Issue.record("(\(x), \(y)) is \(luma(canvas, x, y)), not \(expected)")
                    return
                }
            }
        }
    }

    @Test("An unchanged canvas is nil; a changed tile does not change the returned picture") func changes() throws {
        let compositor = Compositor(width: 640, height: 360)
        let arranged = try shipped("grid").arrange(people(2), canvasWidth: 640, canvasHeight: 360, previous: [])
        let tiles = arranged.tiles
        var generation: UInt64 = 1
        var shade: UInt8 = 80
        func compose() -> Picture? {
            compositor.compose(arranged) { id in
                TileAppearance(
                    name: "Ada", picture: plain(id == "1" ? shade : 60), pictureGeneration: id == "1" ? generation : 1)
            }
        }
        let first = try #require(compose())
        #expect(compose() == nil)
        generation = 2
        shade = 200
        let second = try #require(compose())
        let tile = tiles[0]
        let (x, y) = (tile.x + tile.width / 2, tile.y + tile.height / 2)
        #expect(luma(first, x, y) == 80)
        #expect(luma(second, x, y) == 200)
        #expect(luma(second, tiles[1].x + 20, tiles[1].y + 20) == 60)
        #expect(compositor.compose(Arranged(), appearance: { _ in TileAppearance(name: "") }) != nil)
    }

    @Test("A changed tile is redrawn below the tile that covers it") func layers() throws {
        let layout = try shipped("picture-in-picture")
        let arranged = layout.arrange(people(2, speaker: 1), canvasWidth: 640, canvasHeight: 360, previous: [])
        let tiles = arranged.tiles
        let compositor = Compositor(width: 640, height: 360)
        for generation: UInt64 in 1...2 {
            let canvas = try #require(
                compositor.compose(arranged) { id in
                    TileAppearance(
                        name: "", picture: plain(id == "1" ? 100 : 220), pictureGeneration: id == "1" ? generation : 1)
                })
            let small = try #require(tiles.last)
            #expect(luma(canvas, small.x + small.width / 2, small.y + small.height / 2) > 217)
            #expect(abs(Int(luma(canvas, 20, 20)) - 100) <= 1)
        }
    }

    @Test("A portrait picture is shown whole with a backdrop; rotated, it fills the tile") func fit() throws {
        var tile = Arranged()
        tile.tiles = [Tile(member: "1", x: 0, y: 0, width: 640, height: 360)]
        let compositor = Compositor(width: 640, height: 360)
        let portrait = plain(200, width: 360, height: 640)
        let upright = try #require(
            compositor.compose(tile) { _ in TileAppearance(name: "", picture: portrait, pictureGeneration: 1) })
        #expect(luma(upright, 320, 180) == 200)
        #expect(luma(upright, 20, 180) < 120)
        let turned = try #require(
            compositor.compose(tile) { _ in
                TileAppearance(name: "", picture: portrait, rotation: .clockwise90, pictureGeneration: 2)
            })
        #expect(luma(turned, 20, 180) == 200)
    }

    @Test("The marks are drawn: speaking, muted, hand, frozen, avatar") func marks() throws {
        var tile = Arranged()
        tile.tiles = [Tile(member: "1", x: 0, y: 0, width: 640, height: 360)]
        let compositor = Compositor(width: 640, height: 360)
        func canvas(_ change: (inout TileAppearance) -> Void) throws -> Picture {
            var appearance = TileAppearance(name: "Ada Lovelace", picture: plain(120), pictureGeneration: 1)
            change(&appearance)
            return compositor.compose(tile) { _ in appearance } ?? compositor.current
        }
        func differs(_ a: Picture, _ b: Picture, _ x: Range<Int>, _ y: Range<Int>) -> Bool {
            y.contains { row in x.contains { luma(a, $0, row) != luma(b, $0, row) } }
        }
        let base = try canvas { _ in }
        #expect(differs(base, plain(120), 0..<200, 300..<360))
        do {
            let marked = try canvas { $0.isSpeaking = true }
            #expect(differs(base, marked, 0..<640, 0..<1))
        }
        do {
            let marked = try canvas { $0.isMuted = true }
            #expect(differs(base, marked, 0..<60, 320..<360))
        }
        do {
            let marked = try canvas { $0.handRaised = true }
            #expect(differs(base, marked, 580..<640, 0..<60))
        }
        let frozen = try canvas { $0.state = .frozen }
        #expect(luma(frozen, 100, 100) < 80)
        do {
            let marked = try canvas { $0.state = .avatar }
            #expect(differs(base, marked, 300..<340, 160..<200))
        }
    }

    @Test("A text changes with its words only, and a tile below it is redrawn beneath it") func texts() throws {
        let json = #"""
            {"name": "x", "description": "d", "rules": [{"regions": [
              {"kind": "slot"},
              {"kind": "text", "text": "{room} {time}", "x": 0.1, "y": 0.1, "width": 0.5, "height": 0.2}
            ]}]}
            """#
        let layout = try Layout.parse(json: Array(json.utf8), file: "x.json")
        let arranged = layout.arrange(people(1), canvasWidth: 640, canvasHeight: 360, previous: [])
        let compositor = Compositor(width: 640, height: 360)
        var (words, generation, shade) = (PictureWords(room: "weekly", time: "09:41"), UInt64(1), UInt8(60))
        func compose() -> Picture? {
            compositor.compose(arranged, words: words) { _ in
                TileAppearance(name: "", picture: plain(shade), pictureGeneration: generation)
            }
        }
        func white(_ picture: Picture) -> Int {
            (36..<108).reduce(0) { sum, y in sum + (64..<384).count { luma(picture, $0, y) > 200 } }
        }
        let first = try #require(compose())
        #expect(white(first) > 500)
        #expect(compose() == nil)
        (generation, shade) = (2, 62)
        let second = try #require(compose())
        #expect(abs(white(second) - white(first)) < 20, "blended twice, its edges would be bolder")
        #expect(luma(second, 20, 20) == 62)
        words.time = "09:42"
        #expect(compose() != nil)
    }

    @Test("Rectangles are cut so that they cover their area once") func disjoint() {
        let rectangles = [
            PixelRectangle(x: 0, y: 0, width: 10, height: 10), PixelRectangle(x: 4, y: 4, width: 10, height: 10),
            PixelRectangle(x: 2, y: 2, width: 4, height: 4),
        ]
        var covered: [Int: Int] = [:]
        for piece in PixelRectangle.disjoint(rectangles) {
            for y in piece.y..<piece.y + piece.height {
                for x in piece.x..<piece.x + piece.width { covered[y * 100 + x, default: 0] += 1 }
            }
        }
        #expect(covered.values.allSatisfy { $0 == 1 })
        #expect(covered.count == 164)
    }
}
