import Basics
import Codecs
import Synchronization
import Threads

/// How much more of the same codec work several processors do than one: processors that share a core or a cache do less
/// than their number suggests, and no server can do better.
enum MachineScale {
    private static let length = Duration.seconds(3)

    /// The work of all processors, as a multiple of the work of one.
    static func measure(cores: Int, _ footage: Footage) async throws -> Double {
        guard cores > 1 else { return 1 }
        let one = try await work(threads: 1, footage)
        return try await work(threads: cores, footage) / one
    }

    /// Units of work per second.
    private static func work(threads: Int, _ footage: Footage) async throws -> Double {
        let done = Counter()
        let end = MonotonicClock.now() + length
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<threads {
                group.addTask {
                    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                        DedicatedThread.start("scale-\(number)") {
                            continuation.resume(with: Result { try run(footage, until: end, done) })
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        return Double(done.value.load(ordering: .relaxed)) / length.inSeconds
    }

    private static func run(_ footage: Footage, until end: Instant, _ done: Counter) throws {
        let work = try BareCost.pair(footage)
        var times = StageTimes()
        while MonotonicClock.now() < end {
            try work.run(&times)
            done.value.wrappingAdd(1, ordering: .relaxed)
        }
    }

    private final class Counter: Sendable { let value = Atomic<Int>(0) }
}
