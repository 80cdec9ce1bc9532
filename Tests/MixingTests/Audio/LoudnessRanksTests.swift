import Basics
import Testing

@testable import Mixing

@Suite("Loudness ranks") struct LoudnessRanksTests {
    private func run(_ ranks: inout LoudnessRanks, _ time: inout Instant, _ seconds: Int, _ levels: [String: Double]) {
        for _ in 0..<seconds * 50 {
            ranks.update(levels: levels, speaking: Set(levels.filter { $0.value > -50 }.keys), at: time)
            time += .milliseconds(20)
        }
    }

    @Test("The loudest comes first once it is clearly louder, and who never spoke has no rank") func order() {
        var (ranks, time) = (LoudnessRanks(), Instant.zero)
        run(&ranks, &time, 6, ["a": -30, "b": -70, "c": -80])
        #expect(ranks.order == ["a"])
        run(&ranks, &time, 6, ["a": -30, "b": -28, "c": -80])
        #expect(ranks.order == ["a", "b"], "2 dB do not move anybody")
        run(&ranks, &time, 12, ["a": -30, "b": -18, "c": -80])
        #expect(ranks.order == ["b", "a"])
        run(&ranks, &time, 4, ["a": -30, "c": -80])
        #expect(ranks.order == ["a"])
    }

    @Test("The order changes once in three seconds at most") func calm() {
        var (ranks, time, changes) = (LoudnessRanks(), Instant.zero, 0)
        var last: [String] = []
        for second in 0..<60 {
            run(&ranks, &time, 1, second % 2 == 0 ? ["a": -10, "b": -45] : ["a": -45, "b": -10])
            if ranks.order != last { changes += 1 }
            last = ranks.order
        }
        #expect(changes <= 20)
    }
}
