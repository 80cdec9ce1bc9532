public import Basics

/// A thread for work that may wait for a disk: one job after the other, in order. A disk that hangs blocks this thread
/// and nothing else. What waits for the thread is bounded, and so is how long anyone waits for a result.
///
/// The thread starts with the first job. It ends after the last one, once nobody refers to the lane any more.
public final class DiskLane: Sendable {
    /// Why there is no result.
    public enum Refusal: Error, Sendable {
        /// As many jobs wait as may.
        case full
        /// The disk did not answer in time.
        case late
    }

    private struct Job: Sendable {
        var key: String?
        var run: @Sendable () -> Void
    }

    private struct Jobs: Sendable {
        var waiting: [Job] = []
        /// When the job began that runs.
        var begin: Instant?
        var isStarted = false
        /// Nobody refers to the lane any more.
        var isLeft = false
    }

    /// The most jobs that wait.
    public let most: Int
    /// How long `run` waits.
    public let limit: Duration
    private let name: String
    private let jobs = Condition(Jobs())

    /// - Parameters:
    ///   - name: the thread's name; the system's tools show 15 bytes of it.
    ///   - most: the most jobs that wait.
    ///   - limit: how long `run` waits for a result.
    public init(_ name: String, most: Int, limit: Duration) {
        (self.name, self.most, self.limit) = (name, most, limit)
    }

    deinit { jobs.withLock(waking: .one) { $0.isLeft = true } }

    /// Queues a job. Never blocks.
    ///
    /// - Parameter key: the job takes the place of the waiting one with this key.
    /// - Returns: false where as many jobs wait as may: this one does not run.
    @discardableResult
    public func submit(replacing key: String? = nil, _ job: @escaping @Sendable () -> Void) -> Bool {
        queue(Job(key: key, run: job), isBounded: true)
    }

    /// Queues a job even where the lane is full: for jobs whose number their owner bounds. Never blocks.
    public func add(_ job: @escaping @Sendable () -> Void) { _ = queue(Job(key: nil, run: job), isBounded: false) }

    /// Runs a job, and returns its value.
    ///
    /// - Parameter late: gets the value of a job that had begun in time and ended too late. A job that had not begun is
    ///   not run then.
    public func run<Value: Sendable>(
        _ job: @escaping @Sendable () -> Value, late: (@Sendable (Value) -> Void)? = nil
    ) async throws(Refusal) -> Value {
        let promise = Promise<Value>()
        let isQueued = submit {
            guard promise.isPending else { return }
            let value = job()
            if !promise.fulfil(value) { late?(value) }
        }
        guard isQueued else { throw .full }
        guard let value = await promise.value(within: limit) else { throw .late }
        return value
    }

    /// Runs a job even where the lane is full, and returns its value, however long that takes: for jobs whose number
    /// their owner bounds.
    public func perform<Value: Sendable>(_ job: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in add { continuation.resume(returning: job()) } }
    }

    /// Runs a job on the calling thread, which may block, when the lane comes to it, and holds the lane until its end. Not
    /// on the lane itself.
    public func perform(_ job: () -> Void) {
        let turn = Condition(Turn.waits)
        add {
            turn.withLock(waking: .all) { $0 = .runs }
            let _: Void? = turn.wait { $0 == .over ? () : nil }
        }
        let _: Void? = turn.wait { $0 == .runs ? () : nil }
        job()
        turn.withLock(waking: .all) { $0 = .over }
    }

    private enum Turn { case waits, runs, over }

    /// How many jobs wait, and how long the one takes that runs.
    public func status(at now: Instant) -> (waiting: Int, running: Duration) {
        jobs.withLock { jobs in (jobs.waiting.count, jobs.begin.map { now - $0 } ?? .zero) }
    }

    private func queue(_ job: Job, isBounded: Bool) -> Bool {
        let (isQueued, mustStart) = jobs.withLock(waking: .one) { jobs in
            if let key = job.key, let place = jobs.waiting.firstIndex(where: { $0.key == key }) {
                jobs.waiting[place] = job
                return (true, false)
            }
            if isBounded, jobs.waiting.count >= most { return (false, false) }
            jobs.waiting.append(job)
            defer { jobs.isStarted = true }
            return (true, !jobs.isStarted)
        }
        if mustStart, !DedicatedThread.start(name, { [jobs] in Self.work(jobs) }) {
            // The system has no thread for it now: the next job tries again.
            jobs.withLock { $0.isStarted = false }
        }
        return isQueued
    }

    private static func work(_ jobs: Condition<Jobs>) {
        while let job = next(jobs) {
            job.run()
            jobs.withLock { $0.begin = nil }
        }
    }

    private static func next(_ jobs: Condition<Jobs>) -> Job? {
        let next: Job?? = jobs.wait { jobs in
            if jobs.waiting.isEmpty { return jobs.isLeft ? .some(nil) : nil }
            jobs.begin = MonotonicClock.now()
            return jobs.waiting.removeFirst()
        }
        return next ?? nil
    }
}
