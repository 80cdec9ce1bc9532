import Testing

@testable import Fuzzing

/// Tests of the limits: a fuzz run cannot find a fault that they permit.
@Suite("Work limits") struct WorkLimitTests {
    /// Work in proportion to the bytes, or to the pairs of bytes.
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

    @Test("The steepness of quadratic work increases with its length, that of linear work does not")
    func steepness() {
        func steepness(_ count: Int, isQuadratic: Bool) -> Double {
            let target = Self.target(isQuadratic: isQuadratic)
            // The best of several attempts, because a concurrent test may use the core's cache.
            return (0..<5).map { _ in target.measure([UInt8](repeating: 7, count: count)).steepness }.min() ?? 0
        }
        #expect(steepness(4096, isQuadratic: true) > 4 * steepness(512, isQuadratic: true))
        #expect(steepness(65_536, isQuadratic: false) < 4 * steepness(8192, isQuadratic: false))
    }

    @Test("Memory of an input counts while it is in use")
    func memory() {
        let limits = WorkLimits(base: .seconds(1), memory: 1 << 20)
        let target = FuzzTarget("example", covers: "the limits", limits: limits, seeds: { [] }) { input, work in
            let held = [UInt8](repeating: 1, count: input.bytes.count << 20)
            work.weigh()
            if held.last == 2 { work.step() }
        }
        // A sanitizer's allocator does not report the memory in use.
        guard Work.heap > 0 else { return }
        #expect(target.measure([1, 1, 1, 1]).memoryShare > 1)
    }

    @Test(
        "The nearer to a limit, the higher the level that a fuzzer sees",
        arguments: [(0, 0), (0.06, 0), (0.0625, 1), (0.125, 5), (1, 17), (2, 21), (1000, 31)] as [(Double, UInt32)])
    func levels(_ share: Double, _ level: UInt32) { #expect(Work.level(share) == level) }

    @Test("A climb keeps what costs more, and not what cost more only once")
    func climb() {
        var climb = Climb(seeds: [[1], [2]], seed: 1) { _ in 0.1 }
        func run(_ child: [UInt8], cost: Double, again: Double) {
            while climb.parent() == nil {}
            climb.note(child, cost: cost) { again }
        }
        run([3], cost: 0.5, again: 0.5)
        #expect(climb.steepest.contains([3]))
        let before = climb.steepest
        run([4], cost: 0.9, again: 0)
        run([4], cost: 0.05, again: 0.05)
        climb.note([5], cost: 0.9) { 0.9 }
        #expect(climb.steepest == before)
    }

    @Test("Half of the inputs are children of a climb, mostly of what came far")
    func choice() {
        var climb = Climb(seeds: [[1], [2], [3], [4]], seed: 1) { _ in 0.1 }
        while climb.parent() != [3] {}
        climb.note([9], cost: 0.5) { 0.5 }
        let parents = (0..<1000).compactMap { _ in climb.parent() }
        #expect((400...600).contains(parents.count))
        #expect(parents.filter { $0 == [9] }.count > parents.count / 2)
        #expect(parents.contains([1]))
    }
}
