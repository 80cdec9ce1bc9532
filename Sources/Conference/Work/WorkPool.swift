import Basics
import Glibc
import Sockets
import Synchronization

/// The threads that decode, compose and encode: as many as processors, outside the cooperative pool, which a 15 ms encode would starve.
///
/// What comes from outside may take long to decode, and nothing interrupts it. One thread therefore never runs a lane that is known to be
/// slow (see `SerialLane.isSlow`), so that everyone else's pictures go on.
final class WorkPool: Sendable {
    private struct Ready {
        var lanes = ReadyQueue<SerialLane>()
        /// How many threads run slow lanes now.
        var slow = 0
        var isStopped = false
    }

    private let ready = Condition(Ready())
    private let threads: Int

    init(threads: Int?) {
        // Two on a single processor too: a job that hangs in a codec or a driver then holds up one of them, and not every room.
        self.threads = max(1, threads ?? max(2, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))))
    }

    func start() {
        for index in 0..<threads {
            // Encoders give way to the network and the clocks.
            DedicatedThread.start("work-\(index)", niceness: 5) { [ready, slowLimit] in
                while let (lane, isSlow) = Self.next(ready, for: index, slowLimit: slowLimit) {
                    let due = lane.runOne()
                    ready.change { ready in
                        if isSlow { ready.slow -= 1 }
                        if let due { ready.lanes.add(lane, due: due, home: index) }
                    }
                }
            }
        }
    }

    /// How many threads may run slow lanes: all but one, where there are two.
    private var slowLimit: Int { max(1, threads - 1) }

    /// Ends the threads after the jobs that they run now.
    func stop() { ready.change(wakingAll: true) { $0.isStopped = true } }

    /// `due`: when its next job should begin; whoever's is earliest is next.
    func schedule(_ lane: SerialLane, due: Instant, home: Int?) { Self.put(lane, due, home: home, ready) }

    private static func put(_ lane: SerialLane, _ due: Instant, home: Int?, _ ready: Condition<Ready>) {
        ready.change { $0.lanes.add(lane, due: due, home: home) }
    }

    /// The lane to run, and whether it counts as slow while it runs; nil after `stop`.
    private static func next(
        _ ready: Condition<Ready>, for thread: Int, slowLimit: Int
    ) -> (lane: SerialLane, isSlow: Bool)? {
        let found: (lane: SerialLane, isSlow: Bool)?? = ready.wait { ready in
            if ready.isStopped { return .some(nil) }
            let takesSlow = ready.slow < slowLimit
            guard let lane = ready.lanes.take(for: thread, where: { takesSlow || !$0.isSlow }) else { return nil }
            let isSlow = lane.isSlow
            if isSlow { ready.slow += 1 }
            return .some((lane, isSlow))
        }
        found??.lane.runs(on: thread)
        return found ?? nil
    }
}

/// The work of one stream: in order, one job at a time, on whichever thread of the pool is free.
final class SerialLane: Sendable {
    private struct Queue {
        var jobs: [(run: @Sendable () -> Void, due: Instant)] = []
        var isScheduled = false
        var isClosed = false
        /// The thread of the pool that ran it last.
        var home: Int?
    }

    private let queue = Mutex(Queue())
    private let pool: WorkPool
    private let meter: StageMeter
    private let isForeign: Bool
    /// Of its last jobs' processor time, in nanoseconds.
    private let usual = Atomic<Int64>(0)
    /// More jobs than that do not wait: the oldest goes.
    private let limit: Int
    /// How long a job may wait behind others' younger ones.
    private let patience: Duration
    /// Of decoding and composing. What is encoded is a tick that everyone waits for; a picture that is decoded meanwhile waits for the next
    /// tick anyway, but no longer than half of one, or it would miss that. Composing takes its turn among the decodes: a picture that
    /// it left behind would come a tick later, which is more than all the others gain.
    static let behindEncoders = Duration.milliseconds(15)

    /// A lane whose jobs take so long is slow. Decoding 1920 × 1080 takes 4 to 8 ms; a tick is 33 ms.
    static let slowJob = Duration.milliseconds(12)

    /// - Parameter isForeign: how long its jobs take is in the hands of others, as with decoding. Such a lane is never ahead of lanes that
    ///   have waited longer because much waits in it, and one that is slow leaves a thread to the rest.
    init(pool: WorkPool, meter: StageMeter, limit: Int, patience: Duration = .zero, isForeign: Bool = false) {
        self.isForeign = isForeign
        self.pool = pool
        self.meter = meter
        self.limit = limit
        self.patience = patience
    }

    /// Its jobs take long, and it is not ours to make them shorter.
    var isSlow: Bool { isForeign && usual.load(ordering: .relaxed) > Self.slowJob.nanoseconds }

    /// How many jobs wait.
    var waiting: Int { queue.withLock { $0.jobs.count } }
    /// A job waits or runs.
    var isBusy: Bool { queue.withLock { $0.isScheduled } }

    /// Queues a job; where the lane is full the oldest waiting one is dropped and counted. Never blocks.
    func submit(_ job: @escaping @Sendable () -> Void) {
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
    func removeAll() {
        queue.withLock { queue in
            meter.drop(queue.jobs.count)
            queue.jobs.removeAll()
        }
    }

    /// Takes no more jobs. One that runs now runs to its end.
    func close() {
        queue.withLock { queue in
            queue.isClosed = true
            queue.jobs.removeAll()
        }
    }

    fileprivate func runs(on thread: Int) { queue.withLock { $0.home = thread } }

    /// Runs the oldest job. Returns when the next one should begin where there is one: then the lane must be scheduled again.
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
