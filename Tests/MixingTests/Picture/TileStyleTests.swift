import Basics
import Codecs
import Foundation
import TestSupport
import Testing

@testable import Mixing

@Suite("Style of tiles") struct TileStyleTests {
    private func plain(_ luma: UInt8, width: Int = 640, height: Int = 360) -> Picture {
        let picture = Picture(width: width, height: height)
        picture.fill(y: luma, u: 128, v: 128)
        return picture
    }

    private func luma(_ picture: Picture, _ x: Int, _ y: Int) -> Int { Int(picture.y[y * picture.yStride + x]) }

    private func arranged(_ tiles: Tile...) -> Arranged {
        var arranged = Arranged()
        arranged.tiles = tiles
        return arranged
    }

    @Test("A border has the layout's colour and width, and a speaking one its own") func border() throws {
        let compositor = Compositor(width: 640, height: 360, background: Colour(0))
        compositor.style.border = Colour(0xFFFFFF)
        compositor.style.speaking = Colour(0x000000)
        compositor.style.borderWidth = 0.0278
        let tile = arranged(Tile(member: "1", x: 20, y: 20, width: 320, height: 180, showsName: false))
        for (isSpeaking, edge) in [(false, 235), (true, 16)] {
            let canvas = try #require(
                compositor.compose(tile) { _ in
                    TileAppearance(name: "", picture: plain(120), pictureGeneration: 1, isSpeaking: isSpeaking)
                })
            #expect(luma(canvas, 20, 100) == edge)
            #expect(luma(canvas, 29, 100) == edge)
            #expect(luma(canvas, 30, 100) == 120)
        }
    }

    @Test("Round corners show the ground, or the tile below, however often the tile is redrawn") func corners() throws {
        let compositor = Compositor(width: 640, height: 360, background: Colour(0xFFFFFF))
        compositor.style.radius = 0.1
        compositor.style.border = Colour(0)
        let large = Tile(member: "1", x: 0, y: 0, width: 640, height: 320, showsName: false)
        let small = Tile(member: "2", x: 400, y: 200, width: 200, height: 160, z: 1, showsName: false)
        var canvas = compositor.current
        for generation in 1...20 {
            canvas = try #require(
                compositor.compose(arranged(large, small)) { id in
                    TileAppearance(
                        name: "", picture: plain(id == "1" ? 60 : 160),
                        pictureGeneration: id == "1" ? 1 : UInt64(generation))
                })
        }
        let fresh = Compositor(width: 640, height: 360, background: Colour(0xFFFFFF))
        fresh.style = compositor.style
        let expected = try #require(
            fresh.compose(arranged(large, small)) { id in
                TileAppearance(name: "", picture: plain(id == "1" ? 60 : 160), pictureGeneration: 1)
            })
        #expect(luma(canvas, 1, 1) == 235)
        #expect(luma(canvas, 401, 201) == 60)
        #expect(luma(canvas, 401, 358) == 235)
        #expect(luma(canvas, 500, 280) == 160)
        #expect(luma(canvas, 500, 200) == 16)
        for y in 0..<360 {
            for x in 0..<640 where abs(luma(canvas, x, y) - luma(expected, x, y)) > 1 {
                Issue.record("(\(x), \(y)) is \(luma(canvas, x, y)), not \(luma(expected, x, y))")
                return
            }
        }
    }

    @Test("A label is at its place, in its size and colours", arguments: LabelStyle.Place.allCases)
    func label(place: LabelStyle.Place) throws {
        let compositor = Compositor(width: 640, height: 360)
        compositor.style.label.place = place
        compositor.style.label.size = 0.1
        compositor.style.label.paint.background = Colour(0xFFFFFF)
        compositor.style.label.paint.opacity = 1
        let canvas = try #require(
            compositor.compose(arranged(Tile(member: "1", x: 0, y: 0, width: 640, height: 360))) { _ in
                TileAppearance(name: "Ada", picture: plain(40), pictureGeneration: 1)
            })
        var bright: (x: Int, y: Int, count: Int) = (0, 0, 0)
        for y in 0..<360 {
            for x in 0..<640 where luma(canvas, x, y) > 200 {
                bright = (bright.x + x, bright.y + y, bright.count + 1)
            }
        }
        #expect(bright.count > 2000)
        let (x, y) = (bright.x / bright.count, bright.y / bright.count)
        #expect(place.isTop ? y < 60 : y > 300)
        switch place {
        case .topLeft, .bottomLeft: #expect(x < 120)
        case .top, .bottom: #expect(abs(x - 320) < 6)
        case .topRight, .bottomRight: #expect(x > 520)
        }
    }

    @Test("An avatar is a disc of the picture instead of initials, while no picture comes") func avatar() throws {
        let file = try plain(200, width: 64, height: 32).pngData()
        let avatar = try StillImage(file, limits: StillImage.Limits(bytes: 1 << 20, pixels: 1 << 20, side: 256))
        let compositor = Compositor(width: 640, height: 360)
        let tile = arranged(Tile(member: "1", x: 0, y: 0, width: 640, height: 360, showsName: false))
        func canvas(_ picture: Picture?, _ avatar: StillImage?) -> Picture {
            compositor.compose(tile) { _ in
                var appearance = TileAppearance(name: "Ada", picture: picture, pictureGeneration: 1)
                appearance.avatar = avatar
                return appearance
            } ?? compositor.current
        }
        let initials = canvas(nil, nil)
        let shown = canvas(nil, avatar)
        for (x, y) in [(320, 180), (320, 125), (265, 180), (375, 180)] { #expect(abs(luma(shown, x, y) - 200) <= 2) }
        #expect(abs(luma(initials, 265, 180) - 200) > 20)
        #expect(luma(shown, 265, 125) < 60, "outside of the disc")
        #expect(luma(canvas(plain(90), avatar), 320, 180) == 90)
    }

    /// A directory with a layout and a picture of one colour.
    private func directory(_ colour: UInt8, _ regions: String) throws -> ScratchDirectory {
        let directory = ScratchDirectory()
        try plain(colour, width: 64, height: 64).writePNG(path: "\(directory.path)/logo.png")
        let json =
            "{\"name\": \"x\", \"description\": \"d\", \"background\": \"#000000\", \"rules\": [{\"regions\": [\(regions)]}]}"
        try json.write(toFile: "\(directory.path)/x.json", atomically: true, encoding: .utf8)
        return directory
    }

    @Test("A picture lies behind tiles or on them, and a changed file changes the layout") func images() throws {
        let directory = try directory(
            200,
            #"{"kind": "image", "file": "logo.png", "behind": true, "fit": "cover"},"#
                + #"{"kind": "slot", "x": 0.25, "width": 0.5, "y": 0.25, "height": 0.5, "names": false},"#
                + #"{"kind": "image", "file": "logo.png", "x": 0.7, "y": 0.7, "width": 0.1, "height": 0.1, "opacity": 0.5}"#
        )
        defer { withExtendedLifetime(directory) {} }
        let library = LayoutLibrary(directory: directory.path)
        #expect(library.poll().faults.isEmpty)
        let compositor = Compositor(width: 640, height: 360)
        func canvas(_ tile: UInt8, _ generation: UInt64) throws -> Picture {
            let layout = try #require(library["x"])
            let arranged = layout.arrange(people(1), canvasWidth: 640, canvasHeight: 360, previous: [])
            return compositor.compose(arranged) { _ in
                TileAppearance(name: "", picture: plain(tile), pictureGeneration: generation)
            } ?? compositor.current
        }
        for generation: UInt64 in 1...5 {
            let canvas = try canvas(40, generation)
            #expect(abs(luma(canvas, 10, 10) - 200) <= 2)
            #expect(luma(canvas, 320, 180) == 40)
            #expect(abs(luma(canvas, 470, 260) - 120) <= 3, "half of the logo's and half of the tile's")
        }
        #expect(library.poll().changed.isEmpty)
        try plain(90, width: 80, height: 80).writePNG(path: "\(directory.path)/logo.png")
        #expect(library.poll().changed == ["x"])
        #expect(abs(luma(try canvas(40, 6), 10, 10) - 90) <= 2)
    }

    @Test("A picture that is missing or damaged is a fault of its line, and the last valid layout stays") func faults()
        throws
    {
        let directory = try directory(200, #"{"kind": "image", "file": "logo.png"}"#)
        defer { withExtendedLifetime(directory) {} }
        let library = LayoutLibrary(directory: directory.path)
        _ = library.poll()
        try "no picture".write(toFile: "\(directory.path)/logo.png", atomically: true, encoding: .utf8)
        let fault = try #require(library.poll().faults.first)
        #expect(fault.what == "the file is neither PNG nor JPEG")
        #expect(library["x"]?.usesImages == true)
        #expect(library.poll().faults.isEmpty)
        try plain(50, width: 64, height: 64).writePNG(path: "\(directory.path)/logo.png")
        #expect(library.poll().changed == ["x"], "the layout was refused, and is read again with the new picture")
        for (file, what) in [
            ("gone.png", "there is no file \"gone.png\" beside the layout"),
            ("../logo.png", "the file \"../logo.png\""),
        ] {
            let json =
                "{\"name\": \"y\", \"description\": \"d\", \"rules\": [{\"regions\": [{\"kind\": \"image\", \"file\": \"\(file)\"}]}]}"
            do {
                _ = try library.put(name: "y", json: Array(json.utf8))
                Issue.record("\(file) is taken")
            } catch {
                #expect("\(error)".contains(what))
            }
        }
    }
}
