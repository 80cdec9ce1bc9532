import Basics
import Testing

@testable import Bench

@Suite struct SpreadTests {
    @Test func `The median and the quartiles lie where readings are, or between them`() {
        let spread = Spread([4, 1, 3, 2, 5])
        #expect((spread.lower, spread.median, spread.upper) == (2, 3, 4))
        #expect(spread.half == 1 && spread.count == 5)
        let even = Spread([10, 20, 30, 40])
        #expect((even.lower, even.median, even.upper) == (17.5, 25, 32.5))
    }

    @Test func `Single readings that were disturbed change neither`() {
        let calm = Spread([99, 100, 101, 100, 99])
        let disturbed = Spread([99, 100, 101, 100, 9900])
        #expect(abs(disturbed.median - calm.median) <= 1 && disturbed.half <= 1)
    }

    @Test func `Without two readings nothing is visible`() {
        #expect(Spread([]).visible == .infinity && Spread([7]).visible == .infinity)
        #expect(Spread([]).median == 0 && Spread([]).count(toShow: 0.05) == .max)
        #expect(Spread([7, 7]).visible == 0 && Spread([7, 7]).count(toShow: 0.05) == 2)
    }

    @Test func `More readings show smaller changes`() {
        let few = Spread([90, 95, 100, 105, 110])
        let many = Spread((0..<4).flatMap { _ in [90, 95, 100, 105, 110] as [Double] })
        #expect(abs(few.visible - 4.6 * 10 / 5.0.squareRoot() / 100) < 1e-9)
        #expect(many.visible < few.visible * 0.5)
        #expect(few.count(toShow: few.visible) == 5 && few.count(toShow: few.visible / 2) <= 20)
        #expect(few.count(toShow: 1e-9) == .max)
    }

    /// Two thousand pairs of series on a machine whose turns vary by 2 %.
    @Test(arguments: [5, 9, 20])
    func `A change that is said to be visible is one, and no change is seldom taken for one`(turns: Int) {
        var random = SeededRandom(seed: 26)
        func series(around middle: Double) -> Spread {
            Spread((0..<turns).map { _ in middle * (1 + noise(&random) * 0.02) })
        }
        var wrong = 0, seen = 0
        for _ in 0..<2000 {
            let before = series(around: 100), same = series(around: 100), after = series(around: 110)
            if abs(same.median - before.median) > (before.visible + same.visible) / 2 * 100 { wrong += 1 }
            if abs(after.median - before.median) > (before.visible + after.visible) / 2 * 100 { seen += 1 }
        }
        #expect(wrong < 100, "one of twenty")
        #expect(seen > 1900)
    }

    /// About normally distributed, with a deviation of 1.
    private func noise(_ random: inout SeededRandom) -> Double {
        (0..<4).reduce(-2) { sum, _ in sum + Double.random(in: 0..<1, using: &random) } * 3.0.squareRoot()
    }
}
