import Testing

@testable import Basics

@Suite("Spelling")
struct SpellingTests {
    @Test(
        "edits are counted both ways",
        arguments: [
            ("layout", "layout", 0), ("layot", "layout", 1), ("", "abc", 3), ("kitten", "sitting", 3),
            ("abcd", "acbd", 2),
        ])
    func distance(first: String, second: String, edits: Int) {
        #expect(Spelling.distance(first, second) == edits)
        #expect(Spelling.distance(second, first) == edits)
    }

    @Test("the nearest candidate is suggested, and no distant one")
    func nearest() {
        let keys = ["width", "height", "layout", "locked"]
        #expect(Spelling.nearest("heigth", among: keys) == "height")
        #expect(Spelling.nearest("LAYOUTS", among: keys) == "layout")
        #expect(Spelling.nearest("participants", among: keys) == nil)
        #expect(Spelling.nearest("x", among: []) == nil)
        #expect(Spelling.nearest(String(repeating: "a", count: 100_000), among: keys) == nil)
    }
}
