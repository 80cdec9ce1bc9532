import Testing

@testable import Fuzzing

/// The limits themselves: a fuzz run finds nothing that these let through.
@Suite("What an input may cost") struct WorkLimitTests {
    /// So much work for each byte, or for each pair of bytes.
    private static func target(isQuadratic: Bool) -> FuzzTarget {
        FuzzTarget("example", covers: "the limits", maximumLength: 1 << 16, seeds: { [] }) { input, work in
            work.step(bytes: input.bytes.count)
            var sum: UInt64 = 1
            for byte in input.bytes {
                sum = (sum ^ UInt64(byte)) &* 0x100_0000_01B3
                if isQuadratic { for other in input.bytes { sum = (sum ^ UInt64(other)) &* 0x100_0000_01B3 } }
            }
            if sum == 0 { work.step() }
        }
    }

    @Test("4 KiB in quadratic time go over the limit, and in linear time do not")
    func quadratic() {
        let bytes = [UInt8](repeating: 7, count: 1 << 12)
        #expect(Self.target(isQuadratic: true).measure(bytes).fault?.hasPrefix("too much time") == true)
        #expect(Self.target(isQuadratic: false).measure(bytes).fault == nil)
    }

    @Test("What an input leaves on the heap counts while it is held")
    func memory() {
        let limits = WorkLimits(base: .seconds(1), memory: 1 << 20)
        let target = FuzzTarget("example", covers: "the limits", limits: limits, seeds: { [] }) { input, work in
            let held = [UInt8](repeating: 1, count: input.bytes.count << 20)
            work.weigh()
            if held.last == 2 { work.step() }
        }
        // A sanitizer's allocator does not say what is in use.
        guard Work.heap > 0 else { return }
        #expect(target.measure([1, 1, 1, 1]).memoryShare > 1)
    }

    @Test(
        "The nearer to a limit, the higher the level that a fuzzer sees",
        arguments: [(0, 0), (0.06, 0), (0.0625, 1), (0.125, 5), (1, 17), (2, 21), (1000, 31)] as [(Double, UInt32)])
    func levels(_ share: Double, _ level: UInt32) { #expect(Work.level(share) == level) }
}
