import Basics
import Testing

@testable import RoomMedia

@Suite("ChangeOver")
struct ChangeOverTests {
    private let ladder = Ladder(
        RoomMediaConfiguration.Rung.standard, width: 1280, height: 720, framesPerSecond: 30)

    private func way(
        _ shown: RenditionKind?, _ wanted: RenditionKind, wait: Duration = .seconds(3), budget: BitRate? = .megabits(2),
        isOverloaded: Bool = false
    ) -> ChangeOver.Way {
        ChangeOver(
            from: shown.map { .init($0, ladder.rung(for: $0)) }, to: .init(wanted, ladder.rung(for: wanted)),
            joining: ladder.joining, isOverloaded: isOverloaded
        )
        .way(wait: wait, budget: budget)
    }

    @Test(
        "A peer that has no picture, or a much smaller one, gets the joining rendition while it waits",
        arguments: [
            (nil, .rung(0), .bridge), (nil, .rung(2), .bridge), (.rung(2), .rung(0), .bridge),
            (.rung(1), .rung(0), .wait), (.joining, .rung(0), .wait), (.joining, .rung(2), .wait),
            (.stills, .rung(2), .wait),
        ] as [(RenditionKind?, RenditionKind, ChangeOver.Way)])
    func bridged(shown: RenditionKind?, wanted: RenditionKind, way expected: ChangeOver.Way) {
        #expect(way(shown, wanted) == expected)
        #expect(way(shown, wanted, wait: .milliseconds(250)) == .wait, "not worth an encoder")
        #expect(way(shown, wanted, isOverloaded: true) == .force)
    }

    @Test(
        "A peer whose link does not carry what it gets, and one on stills, gets its keyframe at once",
        arguments: [
            (.rung(0), .rung(1)), (.rung(1), .rung(2)), (.rung(2), .stills), (nil, .stills), (.rung(0), .screen(1)),
            (.screen(1), .rung(1)),
        ]
            as [(RenditionKind?, RenditionKind)])
    func forced(shown: RenditionKind?, wanted: RenditionKind) { #expect(way(shown, wanted) == .force) }

    @Test("A link that carries no joining rendition gets none")
    func thin() {
        #expect(way(nil, .rung(2), budget: .kilobits(60)) == .force)
        #expect(way(.rung(2), .rung(1), budget: .kilobits(60)) == .wait)
        #expect(way(nil, .rung(2), budget: nil) == .bridge)
    }
}
