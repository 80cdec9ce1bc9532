import Basics
import Synchronization

/// The work of one stream: in order, one job at a time, on whichever thread of the pool is free.
public final class SerialLane: Sendable {
    private struct Queue {
        var jobs: [(run: @Sendable () -> Void, due: Instant)] = []
        var isScheduled = false
        var isClosed = false
        /// The thread of the pool that ran it last.
        var home: Int?
    }

    private let queue = Guarded(Queue())
    private let pool: WorkPool
    private let meter: StageMeter
    private let isForeign: Bool
    /// Of its last jobs' processor time, in nanoseconds.
    private let usual: Atomic<Int64>
    /// More jobs than that do not wait: the oldest goes.
    private let limit: Int
    /// How long a job may wait behind others' younger ones.
    private let patience: Duration
    /// Of decoding and composing. What is encoded is a tick that everyone waits for; a picture that is decoded
    /// meanwhile waits for the next tick anyway, but no longer than half of one, or it would miss that. Composing takes
    /// its turn among the decodes: a picture that it left behind would come a tick later, which is more than all the
    /// others gain.
    public static let behindEncoders = Duration.milliseconds(15)

    /// A lane whose jobs take so long is slow. Decoding 1920 × 1080 takes 4 to 8 ms; a tick is 33 ms.
    public static let slowJob = Duration.milliseconds(12)

    /// - Parameter isForeign: how long its jobs take is in the hands of others, as with decoding. Such a lane is never
    ///   ahead of lanes that have waited longer because much waits in it, and one that is slow leaves a thread to the
    ///   rest.
    public init(pool: WorkPool, meter: StageMeter, limit: Int, patience: Duration = .zero, isForeign: Bool = false) {
        self.isForeign = isForeign
        // Slow until it is seen to be quick: the first frame may be the one that takes long.
        usual = Atomic(isForeign ? Self.slowJob.nanoseconds + 1 : 0)
        self.pool = pool
        self.meter = meter
        self.limit = limit
        self.patience = patience
    }

    /// Its jobs take long, and it is not ours to make them shorter.
    public var isSlow: Bool { isForeign && usual.load(ordering: .relaxed) > Self.slowJob.nanoseconds }

    /// How many jobs wait.
    public var waiting: Int { queue.withLock { $0.jobs.count } }
    /// A job waits or runs.
    public var isBusy: Bool { queue.withLock { $0.isScheduled } }

    /// Queues a job; where the lane is full the oldest waiting one is dropped and counted. Never blocks.
    public func submit(_ job: @escaping @Sendable () -> Void) {
        let due = MonotonicClock.now() + patience
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

    /// Forgets what waits, as when the frames behind it became useless.
    public func removeAll() {
        queue.withLock { queue in
            meter.drop(queue.jobs.count)
            queue.jobs.removeAll()
        }
    }

    /// Takes no more jobs. One that runs now runs to its end.
    public func close() {
        queue.withLock { queue in
            queue.isClosed = true
            queue.jobs.removeAll()
        }
    }

    func runs(on thread: Int) { queue.withLock { $0.home = thread } }

    /// Runs the oldest job. Returns when the next one should begin where there is one: then the lane must be scheduled
    /// again.
    func runOne() -> Instant? {
        if let job = queue.withLock({ $0.jobs.isEmpty ? nil : $0.jobs.removeFirst().run }) {
            let took = meter.measure(job).nanoseconds
            let before = usual.load(ordering: .relaxed)
            usual.store(before + (took - before) / 4, ordering: .relaxed)
        }
        let now = isForeign ? MonotonicClock.now() : .distantPast
        return queue.withLock { queue in
            queue.isScheduled = !queue.jobs.isEmpty
            return queue.jobs.first.map { max($0.due, now) }
        }
    }
}
