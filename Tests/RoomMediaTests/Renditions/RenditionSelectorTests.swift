import Basics
import TestSupport
import Testing

@testable import RoomMedia

@Suite("RenditionSelector")
struct RenditionSelectorTests {
    private let rates: [BitRate] = [.kilobits(1500), .kilobits(450), .kilobits(110)]
    private func at(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }

    /// A selector after a minute of the same estimate.
    private func settled(_ estimate: Int) -> RenditionSelector {
        var selector = RenditionSelector(rates: rates)
        for tick in 0..<300 { _ = selector.update(estimate: .kilobits(estimate), at: at(Int64(tick) * 200)) }
        return selector
    }

    @Test(
        "settles on the highest rung that the link carries",
        arguments: [
            (5000, RenditionSelector.Choice.rung(0)), (2000, .rung(0)), (1300, .rung(1)), (600, .rung(1)),
            (400, .rung(2)),
            (300, .rung(2)), (150, .rung(2)), (115, .rung(2)), (90, .stills), (62, .stills), (40, .stills),
            (37, .stills), (31, .rareStills), (25, .rareStills), (23, .audioOnly), (0, .audioOnly),
        ])
    func settles(estimate: Int, choice: RenditionSelector.Choice) { #expect(settled(estimate).choice == choice) }

    @Test(
        "goes down at once when the estimate is far too low",
        arguments: [
            (600, RenditionSelector.Choice.rung(1)), (200, .rung(2)), (80, .stills), (30, .rareStills),
            (20, .audioOnly),
        ])
    func down(estimate: Int, choice: RenditionSelector.Choice) {
        var selector = settled(5000)
        #expect(selector.update(estimate: .kilobits(estimate), at: at(60_001))?.choice == choice)
    }

    @Test("stays while the estimate falls within the rung, since the encoder follows")
    func within() {
        var selector = settled(5000)
        #expect(selector.update(estimate: .kilobits(1200), at: at(60_001)) == nil)
    }

    @Test("waits before a small step down, since a keyframe's burst alone can make the estimate dip")
    func grace() {
        var selector = settled(5000)
        #expect(selector.update(estimate: .kilobits(1000), at: at(60_001)) == nil)
        #expect(selector.update(estimate: .kilobits(1300), at: at(60_300)) == nil)
        #expect(selector.update(estimate: .kilobits(1000), at: at(60_400)) == nil)
        #expect(selector.update(estimate: .kilobits(1000), at: at(61_199)) == nil)
        #expect(selector.update(estimate: .kilobits(1000), at: at(61_200))?.choice == .rung(1))
    }

    @Test("gives the reason of a change in a sentence with the rates")
    func reasons() {
        var selector = settled(5000)
        #expect(selector.mode == .full)
        #expect(
            selector.update(estimate: .kilobits(200), at: at(60_001))?.reason.sentence
                == "The line's estimate of 200kbit/s is below the 1.15Mbit/s that the full picture needs.")
        #expect(selector.mode == .reduced)
        _ = selector.update(estimate: .kilobits(20), at: at(60_100))
        #expect(selector.mode == .audio)
    }

    @Test("goes up only after three seconds of a sufficient estimate without a gap")
    func up() {
        var selector = settled(600)
        #expect(selector.update(estimate: .kilobits(2500), at: at(60_000)) == nil)
        #expect(selector.update(estimate: .kilobits(2500), at: at(62_900)) == nil)
        #expect(selector.update(estimate: .kilobits(1600), at: at(62_950)) == nil, "the break")
        #expect(selector.update(estimate: .kilobits(2500), at: at(63_000)) == nil)
        #expect(selector.update(estimate: .kilobits(2500), at: at(65_900)) == nil)
        #expect(selector.update(estimate: .kilobits(2500), at: at(66_000))?.choice == .rung(0))
    }

    @Test("reaches the top within the first seconds on a good link")
    func start() {
        var selector = RenditionSelector(rates: rates)
        #expect(selector.choice == .rung(2))
        _ = selector.update(estimate: .kilobits(5000), at: at(0))
        #expect(selector.update(estimate: .kilobits(5000), at: at(600))?.choice == .rung(0))
    }

    @Test("never goes above the ceiling, and goes up again when the ceiling is lifted")
    func ceiling() {
        var selector = settled(5000)
        #expect(selector.setCeiling(1)?.choice == .rung(1))
        #expect(selector.update(estimate: .kilobits(5000), at: at(70_000)) == nil)
        #expect(selector.update(estimate: .kilobits(5000), at: at(80_000)) == nil)
        #expect(selector.setCeiling(0) == nil)
        #expect(selector.update(estimate: .kilobits(5000), at: at(81_000)) == nil)
        #expect(selector.update(estimate: .kilobits(5000), at: at(84_000))?.choice == .rung(0))
    }

    @Test(
        "has no reason while the first picture is getting larger, and says that the link is thin where it gets no larger"
    )
    func climbing() {
        var selector = RenditionSelector(rates: rates)
        selector.explain(at: at(0))
        #expect(selector.mode == .reduced && selector.reason == .none, "before the first estimate")
        for tick in 0..<29 {
            _ = selector.update(estimate: .kilobits(300), at: at(Int64(tick) * 200))
            #expect(selector.mode == .reduced && selector.reason == .none)
        }
        selector.explain(at: at(6000))
        #expect(
            selector.reason
                == LinkReason(
                    .linkWorse,
                    "The line's estimate of 300kbit/s is below the 545kbit/s that a larger picture needs."))
        // What grows is not thin.
        for tick in 31..<46 { _ = selector.update(estimate: .kilobits(700), at: at(Int64(tick) * 200)) }
        #expect(selector.choice == .rung(2) && selector.reason.code == .linkWorse)
        for tick in 46..<60 { _ = selector.update(estimate: .kilobits(700), at: at(Int64(tick) * 200)) }
        #expect(selector.choice == .rung(1) && selector.reason.code == .linkBetter)
        selector.explain(at: at(20_000))
        #expect(selector.choice == .rung(1) && selector.reason.code == .linkWorse)
    }

    @Test("says that the server is busy where the climb ends at the ceiling", arguments: [5000, 2000])
    func heldClimb(estimate: Int) {
        var selector = RenditionSelector(rates: rates)
        #expect(selector.setCeiling(1) == nil)
        selector.explain(at: at(0))
        #expect(selector.reason == .none, "the first rung of all")
        for tick in 0..<100 {
            _ = selector.update(estimate: .kilobits(estimate), at: at(Int64(tick) * 200))
            if selector.choice == .rung(1) { #expect(selector.reason.code == .serverBusy) }
        }
        #expect(selector.choice == .rung(1) && selector.mode == .reduced)
        // The overload is over: a larger picture follows, and is there.
        _ = selector.setCeiling(0)
        _ = selector.update(estimate: .kilobits(estimate), at: at(20_000))
        #expect(selector.choice == .rung(1) && selector.reason.code == .linkBetter)
        #expect(selector.update(estimate: .kilobits(estimate), at: at(23_000))?.choice == .rung(0))
        #expect(selector.mode == .full && selector.reason.code == .linkBetter)
    }

    @Test("says that the link is thin at the ceiling too, where it would not carry the larger picture anyway")
    func thinAtTheCeiling() {
        var selector = settled(600)
        #expect(selector.choice == .rung(1) && selector.reason.code == .linkWorse)
        #expect(selector.setCeiling(1) == nil)
        selector.explain(at: at(61_000))
        #expect(selector.reason.code == .linkWorse)
        // Enough to keep it, and not to get it: the sentence does not change back and forth.
        for tick in 0..<50 {
            let estimate = tick % 2 == 0 ? 1300 : 1200
            _ = selector.update(estimate: .kilobits(estimate), at: at(62_000 + Int64(tick) * 200))
            #expect(selector.reason.code == .linkWorse)
        }
        _ = selector.update(estimate: .kilobits(2000), at: at(75_000))
        #expect(selector.reason.code == .serverBusy)
        _ = selector.update(estimate: .kilobits(1300), at: at(76_000))
        #expect(selector.reason.code == .serverBusy)
        _ = selector.update(estimate: .kilobits(900), at: at(77_000))
        #expect(selector.reason.code == .linkWorse)
    }

    @Test("has a reason wherever the picture is reduced after the first seconds", arguments: seeds(1...3))
    func alwaysAReason(seed: UInt64) {
        var generator = SeededRandom(seed: seed)
        for _ in 0..<200 {
            var selector = RenditionSelector(rates: rates)
            var changes = 0
            var estimate = 300
            for tick in 0..<400 {
                let now = at(Int64(tick) * 200)
                let before = selector.reason.code
                if Int.random(in: 0..<60, using: &generator) == 0 {
                    _ = selector.setCeiling(Int.random(in: 0...1, using: &generator))
                }
                if Int.random(in: 0..<10, using: &generator) == 0 {
                    estimate = [30, 60, 150, 400, 700, 1300, 2500].randomElement(using: &generator) ?? 0
                }
                _ = selector.update(estimate: .kilobits(estimate), at: now)
                changes += before == selector.reason.code ? 0 : 1
                if tick > 80, selector.mode != .full { #expect(selector.reason != .none) }
                if selector.reason.code == .serverBusy, case .rung(let index) = selector.choice, index > 0 {
                    #expect(index <= selector.ceiling, "a sentence about a server that is idle")
                }
            }
            #expect(changes < 120)
        }
    }

    @Test("gives a peer that changes to another view the reason of its link at once")
    func anotherView() {
        var selector = RenditionSelector(rates: rates, estimate: .kilobits(600))
        selector.explain(at: at(0))
        #expect(selector.choice == .rung(1) && selector.reason.code == .linkWorse)
        selector = RenditionSelector(rates: rates, estimate: .kilobits(3000))
        _ = selector.setCeiling(1)
        selector.explain(at: at(0))
        #expect(selector.choice == .rung(1) && selector.reason.code == .serverBusy)
    }

    @Test("an estimate that sways around a rung's rate moves nobody back and forth")
    func hysteresis() {
        var selector = settled(1300)
        var moves = 0
        for tick in 0..<600 {
            let estimate = 1300 + (tick % 2 == 0 ? 250 : -250)
            if selector.update(estimate: .kilobits(estimate), at: at(60_000 + Int64(tick) * 200)) != nil { moves += 1 }
        }
        #expect(moves == 0)
    }

    @Test("has every second still where a thin link loses packets, and all of them where it does not")
    func rareStills() {
        func choice(_ loss: Double) -> RenditionSelector.Choice {
            var configuration = RenditionSelector.Configuration()
            configuration.follow(loss: loss, extraAudio: .zero)
            return RenditionSelector(
                rates: [.kilobits(110)], estimate: .kilobits(36), configuration: configuration
            ).choice
        }
        #expect(choice(0) == .stills && choice(0.05) == .rareStills)
        var rare = RareStills()
        let admitted = (0..<7).map { rare.admits(at: .zero + Ladder.stillInterval * $0) }
        #expect(admitted == [true, false, true, false, true, false, true])
    }

    @Test("works with a ladder of one rung or of none", arguments: [[BitRate.kilobits(500)], []])
    func short(rates: [BitRate]) {
        var selector = RenditionSelector(rates: rates)
        for (tick, estimate) in [5000, 10, 5000, 0, 100].enumerated() {
            _ = selector.update(estimate: .kilobits(estimate), at: at(Int64(tick) * 5000))
        }
        #expect(selector.choice == .audioOnly)
    }
}

@Suite("Ladder")
struct LadderTests {
    private let rungs = RoomMediaConfiguration.Rung.standard

    @Test("keeps the canvas' shape, with even sides")
    func shape() {
        let ladder = Ladder(rungs, width: 1280, height: 720, framesPerSecond: 30)
        #expect(ladder.rungs.map(\.width) == [1280, 640, 320])
        #expect(ladder.rungs.map(\.framesPerSecond) == [30, 30, 15])
    }

    @Test("gives the parameter sets of its sizes different numbers, also from those of another canvas")
    func parameterSets() {
        let kinds: [RenditionKind] = [.rung(0), .rung(1), .rung(2), .screen(1), .stills, .joining]
        var numbers: Set<Int> = []
        for (width, height) in [(1280, 720), (720, 1280), (640, 480)] {
            let ladder = Ladder(rungs, width: width, height: height, framesPerSecond: 30)
            for kind in kinds { numbers.insert(ladder.parameterSetID(for: kind)) }
        }
        #expect(numbers.count == 18 && numbers.allSatisfy { (0...31).contains($0) })
    }

    @Test("has the canvas as its top rung, where it is larger than all that are configured")
    func large() {
        let ladder = Ladder(rungs, width: 1920, height: 1080, framesPerSecond: 30)
        #expect(ladder.rungs.map(\.height) == [1080, 720, 360, 180])
        #expect(ladder.rungs.map(\.width) == [1920, 1280, 640, 320])
        let rate = ladder.rungs[0].bitRate
        #expect(rate > .kilobits(2700) && rate < .kilobits(2800), "\(rate)")
        let near = Ladder(rungs, width: 1440, height: 810, framesPerSecond: 30)
        #expect(near.rungs.map(\.height) == [810, 360, 180], "not two of nearly one size")
        #expect(ladder.usefulRate > near.usefulRate)
    }

    @Test("means the shorter side by a height, so that an upright canvas has the same pixels")
    func upright() {
        let ladder = Ladder(rungs, width: 720, height: 1280, framesPerSecond: 30)
        #expect(ladder.rungs.map(\.width) == [720, 360, 180] && ladder.rungs.map(\.height) == [1280, 640, 320])
        #expect(ladder.rungs.map(\.bitRate) == rungs.map(\.bitRate))
    }

    @Test("gives up frames instead of size while a screen is shared, where enough of them are left")
    func screens() throws {
        let ladder = Ladder(rungs, width: 1280, height: 720, framesPerSecond: 30)
        let screen = ladder.rung(for: .screen(1))
        #expect((screen.width, screen.height, screen.framesPerSecond) == (1280, 720, 7))
        #expect(screen.bitRate == rungs[1].bitRate)
        let choices: [RenditionSelector.Choice] = [.rung(0), .rung(1), .rung(2), .stills, .rareStills, .audioOnly]
        #expect(
            choices.map { ladder.kind(of: $0, hasScreen: true) } == [
                .rung(0), .screen(1), .rung(2), .stills, .stills, nil,
            ])
        #expect(
            choices.map { ladder.kind(of: $0, hasScreen: false) } == [
                .rung(0), .rung(1), .rung(2), .stills, .stills, nil,
            ])
    }

    @Test("has no rung above the canvas, and no two of one size")
    func small() {
        let ladder = Ladder(rungs, width: 320, height: 240, framesPerSecond: 10)
        #expect(ladder.rungs.map(\.height) == [240, 180])
        #expect(ladder.rungs.map(\.bitRate) == [.kilobits(450), .kilobits(110)])
        #expect(ladder.rungs.map(\.framesPerSecond) == [10, 10])
        #expect(ladder.rungs.allSatisfy { $0.width % 2 == 0 })
    }
}
