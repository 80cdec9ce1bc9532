import Codecs
import Testing

@testable import Mixing

@Suite("Shipped layouts") struct ShippedLayoutTests {
    private func area(_ tiles: [Tile], on width: Int) -> Double {
        // A phone held upright is 390 points wide, whatever the canvas has.
        let scale = 390.0 / Double(width)
        let areas = tiles.map { Double($0.width * $0.height) * scale * scale }
        return areas.isEmpty ? 0 : areas.min() ?? 0
    }

    @Test("On a phone held upright the smallest tile is 1.8 times as large as in the wide picture", arguments: 2...12)
    func portrait(count: Int) throws {
        for name in ["grid", "speaker", "presentation", "side-by-side"] {
            let layout = try shipped(name)
            let members = people(count, speaker: 1)
            let wide = layout.arrange(members, canvasWidth: 1280, canvasHeight: 720, previous: []).tiles
            let tall = layout.arrange(members, canvasWidth: 720, canvasHeight: 1280, previous: []).tiles
            #expect(area(tall, on: 720) >= 1.8 * area(wide, on: 1280), "\(name), \(count) people")
        }
    }

    @Test("No shipped layout crops a shared screen, on either shape of canvas", arguments: LayoutLibrary.builtInNames)
    func screens(name: String) throws {
        let layout = try shipped(name)
        for (width, height) in [(1280, 720), (720, 1280)] {
            for count in 1...9 {
                let members = people(count, speaker: 1, presenter: count)
                let tiles = layout.arrange(members, canvasWidth: width, canvasHeight: height, previous: []).tiles
                let screen = try #require(tiles.first { $0.member == "\(count)" }, "\(count) people")
                #expect(screen.fit == .contain)
                let shown = min(screen.width, screen.height * 16 / 9)
                #expect(Double(shown) >= (name == "grid" ? 0 : 0.7) * Double(width), "\(count) people")
            }
        }
    }

    @Test("Each shipped layout says in German too what people see", arguments: LayoutLibrary.builtInNames)
    func german(name: String) throws {
        let layout = try shipped(name)
        let german = try #require(layout.descriptions["de"])
        #expect(!german.isEmpty && german != layout.description)
    }

    @Test("The page on layouts has a picture of each, wide and upright", arguments: LayoutLibrary.builtInNames)
    func pictures(name: String) throws {
        let folder = ShippedLayouts.path("x").replacing("/layouts/x.json", with: "/Sources/Mixing/Mixing.docc/")
        let page = try #require(LayoutLibrary.read(folder + "Layouts.md").map { String(decoding: $0, as: UTF8.self) })
        for (file, width, height) in [("\(name).png", 480, 270), ("\(name)-portrait.png", 180, 320)] {
            #expect(page.contains("(\(file))"))
            let picture = try Picture.load(path: folder + "Resources/" + file)
            #expect((picture.width, picture.height) == (width, height))
        }
    }

    @Test("Beside a shared screen five people have tiles of a sixth of the width") func besideScreen() throws {
        let tiles = try shipped("presentation").arrange(
            people(6, presenter: 1), canvasWidth: 1280, canvasHeight: 720, previous: []
        ).tiles
        #expect(tiles.count == 6)
        #expect(tiles.dropFirst().allSatisfy { $0.width >= 190 && $0.height >= 106 })
    }

    @Test(
        "The names of layouts that differed from another by a side only are valid", arguments: ["sidebar", "filmstrip"])
    func aliases(name: String) throws {
        let library = LayoutLibrary(directory: nil)
        #expect(library[name] == library["speaker"])
        #expect(!library.all.contains { $0.name == name })
        #expect(LayoutLibrary.withAliases(["speaker"]).contains(name))
        let json = "{\"name\": \"\(name)\", \"description\": \"d\", \"rules\": [{\"regions\": [{\"kind\": \"grid\"}]}]}"
        _ = try library.put(name: name, json: Array(json.utf8))
        #expect(library[name]?.description == "d")
        try library.delete(name: name)
        #expect(library[name] == library["speaker"])
    }
}
