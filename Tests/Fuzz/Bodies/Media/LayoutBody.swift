import Foundation
import Fuzzing

@testable import Mixing

/// Layout files, which clients may send to the API, and the arrangement of people by them.
enum LayoutBody {
    static let target = FuzzTarget(
        "layout", covers: "layout files: JSON, faults, and placing people by them",
        limits: WorkLimits(perByte: .microseconds(1)),
        maximumLength: 65_536, words: words, seeds: { seeds },
        body: run)

    private static func run(_ input: FuzzInput, _ work: inout Work) {
        work.step(bytes: input.bytes.count)
        guard let layout = try? Layout.parse(json: input.bytes, file: "fuzz.json") else { return work.weigh() }
        for (count, width, height) in [
            (0, 1280, 720), (1, 640, 360), (7, 1280, 720), (30, 1920, 1080), (3, 160, 90), (5, 90, 1000),
        ] {
            work.step()
            let members = (0..<count).map { index in
                LayoutMember(
                    id: "\(index)", isSpeaker: index == 2, speakerRank: index % 3 == 0 ? index : nil,
                    isPresenting: index == 4, pinOrder: index == 5 ? 0 : nil,
                    hasVideo: index % 4 != 3,
                    aspectRatio: index % 5 == 4 ? 0.5 : 1.5, joinOrder: index)
            }
            let arranged = layout.arrange(members, canvasWidth: width, canvasHeight: height, previous: [], viewer: "1")
            let tiles = arranged.tiles
            check(tiles, width, height)
            for ornament in arranged.ornaments { _ = PictureWords(room: "r").text(of: ornament, in: arranged) }
            check(
                layout.arrange(Array(members.reversed()), canvasWidth: height, canvasHeight: width, previous: tiles)
                    .tiles,
                height, width)
        }
        work.weigh()
    }

    /// Checks the properties on which the painter relies.
    private static func check(_ tiles: [Tile], _ width: Int, _ height: Int) {
        for tile in tiles
        where tile.x < 0 || tile.y < 0 || tile.width < 0 || tile.height < 0 || tile.x + tile.width > width
            || tile.y + tile.height > height
        {
            fatalError(
                "layout: a tile of \(tile.width)×\(tile.height) at \(tile.x), \(tile.y) on a canvas of \(width)×\(height)"
            )
        }
    }

    private static var seeds: [[UInt8]] {
        BuiltInLayouts.files.map(\.json) + [
            Array(
                #"{"name":"a","rules":[{"when":{"people":[1,2],"presenting":true},"regions":[{"kind":"strip","x":1e-3,"z":-1}]}]}"#
                    .utf8)
        ]
    }

    private static let words = [
        "\"name\"", "\"rules\"", "\"when\"", "\"people\"", "\"presenting\"", "\"pinned\"", "\"regions\"", "\"kind\"",
        "\"slot\"", "\"grid\"",
        "\"strip\"", "\"text\"", "\"{room}\"", "\"reserved\"", "\"order\"", "\"more\"", "\"canvas\"", "\"portrait\"",
        "\"self\"", "\"hide\"", "\"withoutVideo\"", "\"roles\"", "\"columns\"",
        "\"auto\"", "\"aspect\"", "\"16:9\"", "\"maxTiles\"", "\"gap\"", "\"background\"", "\"#14171c\"", "\"fit\"",
        "\"direction\"", "\"align\"",
        "\"z\"", "\"radius\"", "1e308", "-0",
        "0.0000001", "\\ud800", "\\u0000", "null", "true", "[[", "{\"a\":",
    ]
}
