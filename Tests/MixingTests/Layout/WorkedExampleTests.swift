import Foundation
import Testing

@testable import Mixing

/// The example of the page on writing a layout.
@Suite("Worked example") struct WorkedExampleTests {
    private func example() throws -> Layout {
        let page =
            "/" + #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
            + "/Sources/Mixing/Mixing.docc/Layouts.md"
        let text = try String(contentsOfFile: page, encoding: .utf8)
        let start = try #require(text.range(of: "```json\n"))
        let end = try #require(text.range(of: "\n```", range: start.upperBound..<text.endIndex))
        return try Layout.parse(json: Array(text[start.upperBound..<end.lowerBound].utf8), file: "panel.json")
    }

    @Test("The moderator keeps the left place, also while speaking; who has no place is counted") func panel() throws {
        let layout = try example()
        var members = people(9, speaker: 3)
        members[4].role = .moderator
        for speaker in [3, 5] {
            for index in members.indices { members[index].isSpeaker = index + 1 == speaker }
            let arranged = layout.arrange(members, canvasWidth: 1280, canvasHeight: 720, previous: [])
            let left = try #require(arranged.tiles.first { $0.x == 12 && $0.height > 300 })
            #expect(left.member == "5")
            #expect(arranged.tiles.count == 5)
            #expect(arranged.hidden == 4)
            #expect(arranged.ornaments.count == 3)
        }
    }

    @Test("On an upright canvas everyone is inside it") func upright() throws {
        let tiles = try example().arrange(people(9, speaker: 3), canvasWidth: 720, canvasHeight: 1280, previous: [])
            .tiles
        #expect(tiles.count == 9)
        #expect(tiles.allSatisfy { $0.x + $0.width <= 720 && $0.y + $0.height <= 1280 })
    }
}
