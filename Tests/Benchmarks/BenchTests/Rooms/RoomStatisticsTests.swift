import Basics
import Testing

@testable import Bench

@Suite struct RoomStatisticsTests {
    /// A turn on a machine of that speed: the room takes 10 ms of network and `encode`, the bare work 100 ms.
    private func turn(slowness: Double, encode: Double = 0.11, probe: Double? = nil) -> RoomStatistics.Turn {
        var reading = RoomSession.Reading()
        reading.times.encode = encode * slowness
        reading.times.network = 0.01 * slowness
        var bare = StageTimes()
        bare.encode = 0.1 * slowness
        var turn = RoomStatistics.Turn(room: [reading, reading], bare: [bare])
        if let probe { turn.probes = (probe, 0.01) }
        return turn
    }

    private func statistics(_ turns: [RoomStatistics.Turn]) -> RoomStatistics {
        RoomStatistics(name: "2", turns: turns)
    }

    @Test func `A machine whose speed changes from turn to turn changes the costs, and not their ratio`() {
        let all = statistics([1, 1.4, 0.8, 1.1, 1.25].map { turn(slowness: $0) })
        #expect(all.server(\.total).half > 0.01)
        let ratio = all.ratio(\.total, atEqualSpeed: false)
        #expect(abs(ratio.median - 1.2) < 1e-9 && ratio.half < 1e-9)
        #expect(all.visible < 1e-9)
        #expect(abs(all.ratio(\.encode, atEqualSpeed: false).median - 1.1) < 1e-9)
    }

    @Test func `Five per cent more show between two series, each on a machine that varies by a quarter`() {
        let speeds = [1, 1.25, 0.9, 1.1, 1.05]
        let before = statistics(speeds.map { turn(slowness: $0) })
        let after = statistics(speeds.reversed().map { turn(slowness: $0, encode: 0.116) })
        let change =
            after.ratio(\.total, atEqualSpeed: false).median / before.ratio(\.total, atEqualSpeed: false).median
        #expect(abs(change - 1.05) < 0.001)
        #expect(change - 1 > before.visible && change - 1 > after.visible)
        #expect(RoomReport.blind([before, after], to: 0.05).isEmpty)
    }

    @Test func `What slows the room alone is taken out by the probe`() {
        let turn = turn(slowness: 1, probe: 0.012)
        #expect(abs(turn.slowdown - 1.2) < 1e-9)
        #expect(abs(turn.ratio(\.total, atEqualSpeed: true) - 1) < 1e-9)
    }

    @Test func `A series that hides five per cent says how many turns would show them`() throws {
        let all = statistics([0.10, 0.12, 0.15, 0.11, 0.14].map { turn(slowness: 1, encode: $0) })
        #expect(all.visible > 0.05)
        let line = try #require(RoomReport.blind([all], to: 0.05).first)
        #expect(line.contains("--rounds \(all.turns(toShow: 0.05))") && all.turns(toShow: 0.05) > 5)
    }
}
