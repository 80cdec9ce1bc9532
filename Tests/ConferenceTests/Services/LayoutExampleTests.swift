import Testing

@testable import Conference

@Suite("Examples of layouts, from which pages draw them")
struct LayoutExampleTests {
    @Test("Every shipped layout has one, with tiles on the canvas, and no two are alike")
    func shipped() async throws {
        try await withConference { conference in
            let layouts = conference.layouts.all
            #expect(layouts.count > 4)
            for layout in layouts {
                #expect((1...5).contains(layout.example.count), "\(layout.name)")
                for tile in layout.example {
                    #expect(tile.x >= 0 && tile.y >= 0 && tile.width > 0 && tile.height > 0, "\(layout.name)")
                    #expect(tile.x + tile.width <= 1 && tile.y + tile.height <= 1, "\(layout.name)")
                }
            }
            #expect(Set(layouts.map(\.example)).count == layouts.count)
        }
    }
}
