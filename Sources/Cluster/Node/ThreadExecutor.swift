import Basics
import Threads

/// Runs tasks on a thread of its own, so that a full cooperative pool delays none of them.
final class ThreadExecutor: TaskExecutor {
    private struct State {
        var jobs: [UnownedJob] = []
        var sleepers: [(due: Instant, continuation: CheckedContinuation<Void, Never>)] = []
        var isStopped = false
    }

    private struct Work {
        var jobs: [UnownedJob] = []
        var sleepers: [CheckedContinuation<Void, Never>] = []
        var isLast = false
    }

    private let state = Condition(State())

    /// nil: the system can start no thread.
    init?(_ name: String) {
        // The thread keeps the executor until `stop`.
        guard DedicatedThread.start(name, { [self] in run() }) else { return nil }
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        state.withLock(waking: .one) { $0.jobs.append(job) }
    }

    /// For tasks of this executor: `Task.sleep` needs the cooperative pool.
    func sleep(for time: Duration) async {
        let due = MonotonicClock.now() + time
        await withCheckedContinuation { continuation in
            state.withLock(waking: .one) { $0.sleepers.append((due, continuation)) }
        }
    }

    /// Ends the thread. No task may use the executor any more.
    func stop() { state.withLock(waking: .one) { $0.isStopped = true } }

    private func run() {
        while true {
            let armed = state.withLock { $0.sleepers.map(\.due).min() } ?? .distantFuture
            let work = state.wait(until: min(armed, MonotonicClock.now() + .seconds(3600))) { state -> Work? in
                let now = MonotonicClock.now()
                guard
                    !state.jobs.isEmpty || state.isStopped
                        || state.sleepers.contains(where: { $0.due <= now || $0.due < armed })
                else { return nil }
                let due = state.sleepers.filter { $0.due <= now }.map(\.continuation)
                state.sleepers.removeAll { $0.due <= now }
                defer { state.jobs.removeAll() }
                return Work(jobs: state.jobs, sleepers: due, isLast: state.isStopped)
            }
            guard let work else { continue }
            for continuation in work.sleepers { continuation.resume() }
            for job in work.jobs { job.runSynchronously(on: asUnownedTaskExecutor()) }
            if work.isLast, work.jobs.isEmpty { return }
        }
    }
}
