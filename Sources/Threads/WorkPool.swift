import Basics

/// The threads that decode, compose and encode: as many as processors, outside the cooperative pool, which a 15 ms
/// encode would starve.
///
/// Frames from outside may take long to decode, and a decode cannot be interrupted. One thread therefore never runs a
/// lane that is known to be slow (`SerialLane.isSlow`), so that everyone else's pictures continue.
public final class WorkPool: Sendable {
    private struct Ready {
        var lanes = ReadyQueue<SerialLane>()
        /// The number of threads that run slow lanes now.
        var slow = 0
        var isStopped = false
    }

    private let ready = Condition(Ready())
    public let threads: Int

    public init(threads: Int?) {
        // At least two, even on a single processor: a job that hangs in a codec or a driver then blocks one thread, not
        // every room.
        self.threads = max(1, threads ?? max(2, Processors.available))
    }

    public func start() {
        for index in 0..<threads {
            // Encoders give way to the network and the clocks.
            DedicatedThread.start("work-\(index)", niceness: 5) { [ready, slowLimit] in
                while let (lane, isSlow) = Self.next(ready, for: index, slowLimit: slowLimit) {
                    let due = lane.runOne()
                    ready.withLock(waking: .one) { ready in
                        if isSlow { ready.slow -= 1 }
                        if let due { ready.lanes.add(lane, due: due, home: index) }
                    }
                }
            }
        }
    }

    /// How many threads may run slow lanes: all but one; the only one where there is just one.
    private var slowLimit: Int { max(1, threads - 1) }

    /// Ends each thread after its current job.
    public func stop() { ready.withLock(waking: .all) { $0.isStopped = true } }

    /// Queues a lane.
    ///
    /// - Parameters:
    ///   - due: when the lane's next job should begin; the lane with the earliest is run first.
    ///   - home: the thread that ran the lane last.
    func schedule(_ lane: SerialLane, due: Instant, home: Int?) { Self.put(lane, due, home: home, ready) }

    private static func put(_ lane: SerialLane, _ due: Instant, home: Int?, _ ready: Condition<Ready>) {
        ready.withLock(waking: .one) { $0.lanes.add(lane, due: due, home: home) }
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
        found??.lane.setHome(thread)
        return found ?? nil
    }
}
