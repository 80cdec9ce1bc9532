package import Basics
import Synchronization

/// Ends a demuxer's blocking calls: at a deadline, and when somebody cancels them.
package final class ReadInterrupt: Sendable {
    private let deadline = Atomic<Int64>(.max)
    private let cancelled = Atomic<Bool>(false)
    private let clock: @Sendable () -> Instant

    package init(clock: @escaping @Sendable () -> Instant) { self.clock = clock }

    /// Ends the present call and all later ones. Any thread may call it.
    package func cancel() { cancelled.store(true, ordering: .releasing) }
    package var isCancelled: Bool { cancelled.load(ordering: .acquiring) }

    /// Calls must end at `instant`.
    package func setDeadline(_ instant: Instant) { deadline.store(instant.nanoseconds, ordering: .relaxed) }

    /// Whether a blocking call must return now.
    package var mustStop: Bool { isCancelled || clock().nanoseconds > deadline.load(ordering: .relaxed) }
}
