import Basics
import Glibc
import Sockets
import Synchronization

/// The threads that decode, compose and encode: as many as processors, outside the cooperative pool, which a 15 ms encode would starve.
final class WorkPool: Sendable {
    private struct Ready {
        var lanes: [SerialLane] = []
        var head = 0
        var isStopped = false
    }

    private let ready = Condition(Ready())
    private let threads: Int

    init(threads: Int?) {
        self.threads = max(1, threads ?? Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))
    }

    func start() {
        for index in 0..<threads {
            // Encoders give way to the network and the clocks.
            DedicatedThread.start("work-\(index)", niceness: 5) { [ready] in
                while let lane = Self.next(ready) {
                    if lane.runOne() { Self.put(lane, ready) }
                }
            }
        }
    }

    /// Ends the threads after the jobs that they run now.
    func stop() { ready.change(wakingAll: true) { $0.isStopped = true } }

    func schedule(_ lane: SerialLane) { Self.put(lane, ready) }

    private static func put(_ lane: SerialLane, _ ready: Condition<Ready>) {
        ready.change { $0.lanes.append(lane) }
    }

    private static func next(_ ready: Condition<Ready>) -> SerialLane? {
        let found: SerialLane?? = ready.wait { ready in
            if ready.isStopped { return .some(nil) }
            guard ready.head < ready.lanes.count else { return nil }
            defer {
                ready.head += 1
                if ready.head > 64, ready.head * 2 > ready.lanes.count {
                    ready.lanes.removeFirst(ready.head)
                    ready.head = 0
                }
            }
            return .some(ready.lanes[ready.head])
        }
        return found ?? nil
    }
}

/// The work of one stream: in order, one job at a time, on whichever thread of the pool is free.
final class SerialLane: Sendable {
    private struct Queue {
        var jobs: [@Sendable () -> Void] = []
        var isScheduled = false
        var isClosed = false
    }

    private let queue = Mutex(Queue())
    private let pool: WorkPool
    private let meter: StageMeter
    /// More jobs than that do not wait: the oldest goes.
    private let limit: Int

    init(pool: WorkPool, meter: StageMeter, limit: Int) {
        self.pool = pool
        self.meter = meter
        self.limit = limit
    }

    /// How many jobs wait.
    var waiting: Int { queue.withLock { $0.jobs.count } }
    /// A job waits or runs.
    var isBusy: Bool { queue.withLock { $0.isScheduled } }

    /// Queues a job; where the lane is full the oldest waiting one is dropped and counted. Never blocks.
    func submit(_ job: @escaping @Sendable () -> Void) {
        let mustSchedule = queue.withLock { queue in
            if queue.isClosed { return false }
            if queue.jobs.count >= limit {
                queue.jobs.removeFirst()
                meter.drop()
            }
            queue.jobs.append(job)
            if queue.isScheduled { return false }
            queue.isScheduled = true
            return true
        }
        if mustSchedule { pool.schedule(self) }
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

    /// Runs the oldest job. Returns whether the lane must be scheduled again.
    func runOne() -> Bool {
        guard let job = queue.withLock({ $0.jobs.isEmpty ? nil : $0.jobs.removeFirst() }) else {
            queue.withLock { $0.isScheduled = false }
            return false
        }
        meter.measure(job)
        return queue.withLock { queue in
            queue.isScheduled = !queue.jobs.isEmpty
            return queue.isScheduled
        }
    }
}
