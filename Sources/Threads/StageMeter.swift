import Glibc
import Synchronization

/// What a stage of the way of the data costs: processor time, jobs, and what was dropped before it.
public final class StageMeter: Sendable {
    /// As the metrics label it: decode, compose, encode, audio, network.
    public let name: String
    private let nanoseconds = Atomic<Int64>(0)
    private let runs = Atomic<Int>(0)
    private let drops = Atomic<Int>(0)

    public init(_ name: String) { self.name = name }

    /// Returns the processor time that `body` took.
    @discardableResult
    public func measure(_ body: () -> Void) -> Duration {
        let start = StageMeter.threadTime()
        body()
        let took = StageMeter.threadTime() - start
        nanoseconds.wrappingAdd(took, ordering: .relaxed)
        runs.wrappingAdd(1, ordering: .relaxed)
        return .nanoseconds(took)
    }

    /// For threads that do nothing else: all that one used since it was asked last, its system calls between jobs
    /// included.
    public func took(_ time: Duration) {
        nanoseconds.wrappingAdd(time.nanoseconds, ordering: .relaxed)
        runs.wrappingAdd(1, ordering: .relaxed)
    }

    public func drop(_ count: Int = 1) { drops.wrappingAdd(count, ordering: .relaxed) }

    /// Processor time in seconds.
    public var seconds: Double { Double(nanoseconds.load(ordering: .relaxed)) / 1e9 }
    public var count: Int { runs.load(ordering: .relaxed) }
    public var dropped: Int { drops.load(ordering: .relaxed) }

    /// What the calling thread has had of processors, in nanoseconds.
    public static func threadTime() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
}
