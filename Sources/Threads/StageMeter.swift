import Basics
import Synchronization

/// Counts what one stage of the media pipeline costs: processor time, jobs, and jobs that were dropped before it.
public final class StageMeter: Sendable {
    /// The label in the metrics: decode, compose, encode, audio, network.
    public let name: String
    private let nanoseconds = Atomic<Int64>(0)
    private let runs = Atomic<Int>(0)
    private let drops = Atomic<Int>(0)

    public init(_ name: String) { self.name = name }

    /// Runs `body`, counts it, and returns the processor time that it took.
    @discardableResult
    public func measure(_ body: () -> Void) -> Duration {
        let start = ThreadClock.nanoseconds()
        body()
        let took = ThreadClock.nanoseconds() - start
        nanoseconds.wrappingAdd(took, ordering: .relaxed)
        runs.wrappingAdd(1, ordering: .relaxed)
        return .nanoseconds(took)
    }

    /// Counts one job of `time`, for a thread that does nothing else: the caller passes all processor time since its
    /// last call, system calls between jobs included.
    public func add(_ time: Duration) {
        nanoseconds.wrappingAdd(time.nanoseconds, ordering: .relaxed)
        runs.wrappingAdd(1, ordering: .relaxed)
    }

    public func drop(_ count: Int = 1) { drops.wrappingAdd(count, ordering: .relaxed) }

    /// Processor time in seconds.
    public var seconds: Double { Double(nanoseconds.load(ordering: .relaxed)) / 1e9 }
    public var count: Int { runs.load(ordering: .relaxed) }
    public var dropped: Int { drops.load(ordering: .relaxed) }
}
