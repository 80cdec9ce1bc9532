import Testing

@testable import Mixing

/// Who is shown where, as layouts ask for it.
@Suite("People in layouts") struct LayoutPeopleTests {
    /// A layout with these regions and other members.
    private func layout(_ regions: String, _ more: String = "") throws -> Layout {
        let json = "{\"name\": \"x\", \"description\": \"d\", \(more) \"rules\": [{\"regions\": [\(regions)]}]}"
        return try Layout.parse(json: Array(json.utf8), file: "x.json")
    }

    private func arrange(_ layout: Layout, _ members: [LayoutMember], viewer: String? = nil) -> Arranged {
        layout.arrange(members, canvasWidth: 1280, canvasHeight: 720, previous: [], viewer: viewer)
    }

    private let halves = (
        left: #"{"kind": "slot", "width": 0.5, "reserved": RESERVED}"#,
        right: #"{"kind": "slot", "x": 0.5, "role": ["speaker", "any"]}"#
    )

    @Test(
        "A reserved slot is for a name, an identity or a role, also while that person speaks",
        arguments: [
            (#"{"name": "ada"}"#, "1"), (#"{"id": "u-2"}"#, "2"), (#"{"role": "moderator"}"#, "3"),
            (#"[{"name": "Nobody"}, {"role": "presenter"}]"#, "4"),
        ])
    func reserved(reservation: String, expected: String) throws {
        let layout = try layout(
            halves.right + "," + halves.left.replacing("RESERVED", with: reservation))
        for speaker in 1...5 {
            var members = people(5, speaker: speaker, presenter: 5)
            members[0].name = "Ada"
            members[1].externalID = "u-2"
            members[2].role = .moderator
            members[3].role = .presenter
            let tiles = arrange(layout, members).tiles
            #expect(tiles.first { $0.x == 0 }?.member == expected)
            #expect(tiles.count == 2)
            if String(speaker) != expected { #expect(tiles.first { $0.x > 0 }?.member == "\(speaker)") }
        }
    }

    @Test("A reserved slot stays empty without its person, unless it has roles too") func absent() throws {
        let empty = try layout(halves.left.replacing("RESERVED", with: #"{"name": "Ada"}"#))
        #expect(arrange(empty, people(3)).tiles.isEmpty)
        let shared = try layout(
            halves.left.replacing("RESERVED", with: #"{"name": "Ada"}, "role": "speaker""#))
        #expect(arrange(shared, people(3, speaker: 2)).tiles.map(\.member) == ["2"])
    }

    @Test("Pins fill pinned slots in their order, and the latest of two screens is the presenter's") func pins() throws
    {
        let three = try layout(
            #"{"kind": "slot", "width": 0.3, "role": "pinned"}, {"kind": "slot", "x": 0.3, "width": 0.3, "role": "pinned"},"#
                + #"{"kind": "slot", "x": 0.6, "role": "presenter"}"#)
        var members = people(6)
        members[4].pinOrder = 0
        members[1].pinOrder = 1
        for (index, order) in [(0, 2), (2, 3), (3, 1)] {
            members[index].isPresenting = true
            members[index].presentOrder = order
        }
        let before = arrange(three, members)
        #expect(before.tiles.map(\.member) == ["5", "2", "3"])
        members[4].pinOrder = 2
        let after = three.arrange(members, canvasWidth: 1280, canvasHeight: 720, previous: before.tiles)
        #expect(after.tiles.map(\.member) == ["2", "5", "3"])
    }

    @Test(
        "Seats follow the order that the layout asks for",
        arguments: [("joining", "1234"), ("name", "3142"), ("loudness", "2413")])
    func order(name: String, expected: String) throws {
        let grid = try layout(#"{"kind": "grid"}"#, "\"order\": \"\(name)\",")
        var members = people(4)
        for (index, name) in ["Bea", "dora", "ada", "Cora"].enumerated() { members[index].name = name }
        (members[1].loudnessRank, members[3].loudnessRank) = (0, 1)
        members.reverse()
        let previous = arrange(try layout(#"{"kind": "grid"}"#), members).tiles
        let tiles = grid.arrange(members, canvasWidth: 1280, canvasHeight: 720, previous: previous).tiles
        #expect(tiles.map(\.member).joined() == expected)
    }

    @Test("People without a picture are last or hidden, but for pinned ones and where nobody has one")
    func withoutVideo() throws {
        func shown(_ value: String, _ change: (inout [LayoutMember]) -> Void = { _ in }) throws -> String {
            let grid = try layout(#"{"kind": "grid"}"#, "\"withoutVideo\": \"\(value)\",")
            var members = people(4)
            (members[0].hasVideo, members[2].hasVideo) = (false, false)
            change(&members)
            return arrange(grid, members).tiles.map(\.member).joined()
        }
        #expect(try shown("show") == "1234")
        #expect(try shown("last") == "2413")
        #expect(try shown("hide") == "24")
        #expect(try shown("hide") { $0[2].pinOrder = 0 } == "234")
        #expect(try shown("hide") { members in for index in 0..<4 { members[index].hasVideo = false } } == "1234")
    }

    @Test("A picture for one leaves that one and its screen out, unless nobody else is there") func ownPicture() throws
    {
        let hiding = try layout(#"{"kind": "grid"}"#, "\"self\": \"hide\",")
        var members = people(3)
        members.append(LayoutMember(id: "2/screen", isPresenting: true, joinOrder: 9))
        #expect(arrange(hiding, members, viewer: "2").tiles.map(\.member) == ["1", "3"])
        #expect(arrange(hiding, members).tiles.count == 4)
        #expect(arrange(hiding, [members[1]], viewer: "2").tiles.map(\.member) == ["2"])
        let showing = try layout(#"{"kind": "grid"}"#)
        #expect(arrange(showing, members, viewer: "2").tiles.count == 4)
    }

    @Test("The last place says how many more there are, and who of them speaks") func more() throws {
        let strip = try layout(
            #"{"kind": "strip", "height": 0.2, "maxTiles": 4, "more": true}"#, "\"withoutVideo\": \"hide\",")
        var members = people(9)
        members[8].hasVideo = false
        members[8].name = "Zoe"
        members[8].isSpeaker = true
        let arranged = arrange(strip, members)
        #expect(arranged.tiles.map(\.member) == ["1", "2", "3"])
        #expect(arranged.hidden == 6)
        let mark = try #require(arranged.ornaments.first)
        #expect(mark.content == .more)
        #expect(!arranged.tiles.contains { $0.frame.overlaps(mark.frame) })
        #expect(PictureWords().text(of: mark, in: arranged) == "+6\nZoe")
        #expect(arrange(strip, people(4)).ornaments.isEmpty)
    }

    @Test("A condition on the canvas' shape makes one layout fit both") func shape() throws {
        let json = #"""
            {"name": "x", "description": "d", "rules": [
              {"when": {"canvas": "portrait"}, "regions": [{"kind": "grid", "columns": 1}]},
              {"regions": [{"kind": "grid", "columns": 2}]}
            ]}
            """#
        let layout = try Layout.parse(json: Array(json.utf8), file: "x.json")
        func columns(_ width: Int, _ height: Int) -> Int {
            Set(layout.arrange(people(2), canvasWidth: width, canvasHeight: height, previous: []).tiles.map(\.x)).count
        }
        #expect(columns(720, 1280) == 1)
        #expect(columns(1280, 720) == 2)
        #expect(columns(720, 720) == 2)
    }

    @Test("A text vanishes when all its placeholders are empty") func texts() throws {
        let text = try LayoutText("{speaker} speaks ({more})")
        #expect(text.filled { _ in "" } == nil)
        #expect(text.filled { $0 == .speaker ? "Zoe" : "+2" } == "Zoe speaks (+2)")
        #expect(try LayoutText("Welcome").filled { _ in "" } == "Welcome")
        #expect(throws: LayoutText.UnknownPlaceholder.self) { _ = try LayoutText("{rom}") }
        #expect(throws: LayoutText.UnknownPlaceholder.self) { _ = try LayoutText("{room") }
    }
}
