import Basics
import Testing

@testable import Conference

/// How much of a server is used, from readings of processor times.
@Suite("The used capacity")
struct CapacityMeterTests {
    private func used(_ readings: [(pool: Double, loops: [Double])], threads: Int = 4) -> Double {
        var meter = CapacityMeter()
        for (second, reading) in readings.enumerated() {
            meter.take(
                MediaWork(pool: .seconds(reading.pool), threads: threads, loops: reading.loops.map { .seconds($0) }),
                at: .zero + .seconds(second))
        }
        return (meter.used * 1000).rounded() / 1000
    }

    @Test("is the larger of the share of all encoder threads and of the busiest loop, from 0 to 1")
    func shares() {
        #expect(used([]) == 0 && used([(5, [5])]) == 0, "one reading says nothing")
        #expect(used([(10, [1, 1]), (12, [1.1, 1.1])]) == 0.5)
        #expect(used([(10, [1, 1]), (12, [1.1, 1.8])]) == 0.8)
        #expect(used([(10, [1]), (90, [1])]) == 1)
        #expect(used([(10, []), (10, [])]) == 0)
    }

    @Test("is that of the last five seconds")
    func window() {
        let busy = (0..<10).map { (pool: Double($0) * 4, loops: [0.0]) }
        #expect(used(busy) == 1)
        let calm = (0..<3).map { _ in (pool: 36.0, loops: [0.0]) }
        #expect(used(busy + calm) == 0.4)
        #expect(used(busy + calm + calm) == 0)
    }
}
