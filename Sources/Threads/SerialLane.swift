import Basics
import Synchronization

/// The jobs of one stream: they run in order, one at a time, on whichever thread of the pool is free.
public final class SerialLane: Sendable {
    private struct Queue {
        var jobs: [(run: @Sendable () -> Void, due: Instant)] = []
        var isScheduled = false
        var isClosed = false
        /// The thread of the pool that ran the lane last.
        var home: Int?
    }

    private let queue = Guarded(Queue())
    private let pool: WorkPool
    private let meter: StageMeter
    private let hasUntrustedInput: Bool
    /// The smoothed processor time of a job, in nanoseconds.
    private let averageTime: Atomic<Int64>
    /// The most jobs that wait; beyond it the oldest is dropped.
    private let limit: Int
    /// How long a job may wait behind jobs of other lanes that were queued later.
    private let slack: Duration
    /// The slack of decoding and composing. All peers wait for the encodes of a tick, while a picture that is decoded
    /// at the same time waits for the next tick anyway. Half a tick is the limit: a longer wait would make the picture
    /// miss that tick. Composing has the same slack as decoding: if it went first, a picture still in a decoder would
    /// be shown a tick later, which costs more than the others gain.
    public static let slackBehindEncoders = Duration.milliseconds(15)

    /// A lane whose jobs take longer than this on average is slow. Decoding 1920 × 1080 takes 4 to 8 ms; a tick is 33
    /// ms.
    public static let slowJob = Duration.milliseconds(12)

    /// - Parameters:
    ///   - limit: the most jobs that wait.
    ///   - slack: how long a job may wait behind jobs of other lanes that were queued later.
    ///   - hasUntrustedInput: whether remote input determines how long a job takes, as with decoding. Such a lane gets
    ///     no priority for its backlog, and while it is slow it leaves one thread to the other lanes.
    public init(
        pool: WorkPool, meter: StageMeter, limit: Int, slack: Duration = .zero, hasUntrustedInput: Bool = false
    ) {
        self.hasUntrustedInput = hasUntrustedInput
        // The lane counts as slow until its jobs prove quick: the first frame may be the slow one.
        averageTime = Atomic(hasUntrustedInput ? Self.slowJob.nanoseconds + 1 : 0)
        self.pool = pool
        self.meter = meter
        self.limit = limit
        self.slack = slack
    }

    /// Whether untrusted input makes the lane's jobs take longer than `slowJob`.
    public var isSlow: Bool { hasUntrustedInput && averageTime.load(ordering: .relaxed) > Self.slowJob.nanoseconds }

    /// The number of jobs that wait.
    public var waiting: Int { queue.withLock { $0.jobs.count } }
    /// Whether a job waits or runs.
    public var isBusy: Bool { queue.withLock { $0.isScheduled } }

    /// Queues a job; where the lane is full the oldest waiting one is dropped and counted. Never blocks.
    public func submit(_ job: @escaping @Sendable () -> Void) {
        let due = MonotonicClock.now() + slack
        let (mustSchedule, home) = queue.withLock { queue -> (Bool, Int?) in
            if queue.isClosed { return (false, nil) }
            if queue.jobs.count >= limit {
                queue.jobs.removeFirst()
                meter.drop()
            }
            queue.jobs.append((job, due))
            if queue.isScheduled { return (false, nil) }
            queue.isScheduled = true
            return (true, queue.home)
        }
        if mustSchedule { pool.schedule(self, due: due, home: home) }
    }

    /// Drops and counts the waiting jobs, for example when their frames can no longer be decoded.
    public func removeAll() {
        queue.withLock { queue in
            meter.drop(queue.jobs.count)
            queue.jobs.removeAll()
        }
    }

    /// Refuses further jobs and drops the waiting ones. A job that runs now runs to its end.
    public func close() {
        queue.withLock { queue in
            queue.isClosed = true
            queue.jobs.removeAll()
        }
    }

    /// Notes the thread that runs the lane from now on.
    func setHome(_ thread: Int) { queue.withLock { $0.home = thread } }

    /// Runs the oldest job. Returns the due time of the next job, for which the caller must schedule the lane again;
    /// nil where there is none.
    func runOne() -> Instant? {
        if let job = queue.withLock({ $0.jobs.isEmpty ? nil : $0.jobs.removeFirst().run }) {
            let took = meter.measure(job).nanoseconds
            let before = averageTime.load(ordering: .relaxed)
            averageTime.store(before + (took - before) / 4, ordering: .relaxed)
        }
        let now = hasUntrustedInput ? MonotonicClock.now() : .distantPast
        return queue.withLock { queue in
            queue.isScheduled = !queue.jobs.isEmpty
            return queue.jobs.first.map { max($0.due, now) }
        }
    }
}
