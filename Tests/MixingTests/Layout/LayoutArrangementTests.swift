import Testing

@testable import Mixing

@Suite("Arrangement") struct LayoutArrangementTests {
    private func table(_ tiles: [Tile]) -> [String] {
        tiles.map { "\($0.member): \($0.x),\($0.y) \($0.width)x\($0.height)" }
    }

    @Test("The grids of two and of four are the golden ones") func goldenGrid() throws {
        let grid = try shipped("grid")
        #expect(
            table(grid.arrange(people(1), canvasWidth: 1280, canvasHeight: 720, previous: []).tiles) == [
                "1: 0,0 1280x720"
            ])
        #expect(
            table(grid.arrange(people(2), canvasWidth: 1280, canvasHeight: 720, previous: []).tiles)
                == ["1: 8,150 628x418", "2: 644,150 628x418"])
        let four = grid.arrange(people(4), canvasWidth: 1280, canvasHeight: 720, previous: []).tiles
        #expect(Set(four.map(\.x)).count == 2)
        #expect(Set(four.map(\.y)).count == 2)
    }

    @Test(
        "Every shipped layout stays inside the canvas, on even pixels, without overlap, for 0…50 people",
        arguments: LayoutLibrary.builtInNames,
        [(1280, 720), (640, 360), (1920, 1080), (721, 1281), (320, 180), (64, 36)])
    func properties(name: String, canvas: (Int, Int)) throws {
        let layout = try shipped(name)
        var previous: [Tile] = []
        for count in 0...50 {
            for presenting in [false, true] {
                let members = people(count, speaker: count / 2 + 1, presenter: presenting ? count : nil)
                let tiles = layout.arrange(members, canvasWidth: canvas.0, canvasHeight: canvas.1, previous: previous)
                    .tiles
                previous = tiles
                #expect(tiles.isEmpty == (count == 0), "\(count) people")
                #expect(tiles.count <= min(count, layout.maxTiles))
                #expect(Set(tiles.map(\.member)).count == tiles.count)
                for (index, tile) in tiles.enumerated() {
                    #expect((tile.x | tile.y | tile.width | tile.height) & 1 == 0)
                    #expect(tile.x >= 0 && tile.y >= 0 && tile.width >= 2 && tile.height >= 2)
                    #expect(tile.x + tile.width <= canvas.0 && tile.y + tile.height <= canvas.1)
                    #expect(
                        !tiles[..<index].contains { $0.z == tile.z && $0.frame.overlaps(tile.frame) },
                        "\(count): \(tile)")
                }
            }
        }
    }

    @Test("A shared screen gets at least 70 % of the canvas, uncropped") func presentation() throws {
        let tiles = try shipped("presentation").arrange(
            people(9, speaker: 2, presenter: 5), canvasWidth: 1280, canvasHeight: 720, previous: []
        ).tiles
        let screen = try #require(tiles.first { $0.member == "5" })
        #expect(screen.fit == .contain)
        let shownHeight = min(screen.height, screen.width * 9 / 16)
        #expect(Double(screen.width * shownHeight) >= 0.7 * 1280 * 720)
    }

    @Test("A change of the speaker swaps two tiles and moves no other") func speakerSwaps() throws {
        let layout = try shipped("speaker")
        let before = layout.arrange(people(6, speaker: 1), canvasWidth: 1280, canvasHeight: 720, previous: []).tiles
        let after = layout.arrange(people(6, speaker: 4), canvasWidth: 1280, canvasHeight: 720, previous: before).tiles
        let moved = Set(before).symmetricDifference(after).map(\.member)
        #expect(Set(moved) == ["1", "4"])
        #expect(after.first?.member == "4")
    }

    @Test("A participant who leaves a full grid is replaced; the others stay at their places") func leaving() throws {
        let grid = try shipped("grid")
        let before = grid.arrange(people(9), canvasWidth: 1280, canvasHeight: 720, previous: []).tiles
        let after = grid.arrange(
            people(9).filter { $0.id != "2" }, canvasWidth: 1280, canvasHeight: 720, previous: before
        ).tiles
        let kept = after.filter { before.contains($0) }.count
        #expect(kept >= 5)
    }

    @Test("With more people than places, the last speaker is shown, and no other tile moves") func overflow() throws {
        let grid = try shipped("grid")
        let before = grid.arrange(people(40), canvasWidth: 1280, canvasHeight: 720, previous: []).tiles
        #expect(before.map(\.member) == (1...24).map(String.init), "the last place says how many more there are")
        let after = grid.arrange(people(40, speaker: 33), canvasWidth: 1280, canvasHeight: 720, previous: before).tiles
        #expect(after.contains { $0.member == "33" })
        #expect(Set(before).intersection(after).count == 23)
    }

    @Test("A pinned person has precedence over the speaker; equal input gives equal tiles") func pinned()
        throws
    {
        let layout = try shipped("speaker")
        let members = people(5, speaker: 2, pinned: 3)
        let tiles = layout.arrange(members, canvasWidth: 1280, canvasHeight: 720, previous: []).tiles
        #expect(tiles.max { $0.width < $1.width }?.member == "3")
        #expect(tiles == layout.arrange(members, canvasWidth: 1280, canvasHeight: 720, previous: []).tiles)
    }
}
