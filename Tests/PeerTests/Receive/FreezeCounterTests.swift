import Basics
import Testing

@testable import Peer

@Suite("Freezes") struct FreezeCounterTests {
    private func counted(gaps milliseconds: [Int64]) -> FreezeCounter {
        var counter = FreezeCounter()
        var now = Instant(nanoseconds: 1_000_000_000)
        counter.frame(at: now)
        for gap in milliseconds {
            now += .milliseconds(gap)
            counter.frame(at: now)
        }
        return counter
    }

    @Test(
        "A freeze is a gap above three times the average and 150 ms above it",
        arguments: [
            ([33, 33, 33], 0, 0), ([33, 33, 180], 0, 0), ([33, 33, 184], 1, 184), ([100, 100, 299], 0, 0),
            ([100, 100, 301], 1, 301),
            ([33, 400, 33, 500], 2, 900),
        ] as [([Int64], Int, Int64)])
    func gaps(gaps: [Int64], count: Int, total: Int64) {
        let counter = counted(gaps: gaps)
        #expect(counter.count == count)
        #expect(counter.total == .milliseconds(total))
    }

    @Test("A freeze does not count for the average")
    func average() {
        #expect(counted(gaps: [33] + [Int64](repeating: 500, count: 20)).count == 20)
    }
}
