import Basics
import Sockets

/// What happens to rooms because of media or time, and the events to the doors: one thread, in order, apart from every clock.
final class ControlThread: Sendable {
    private struct Inbox {
        var work = Backlog<@Sendable () -> Void>()
        var isStopped = false
    }

    /// How often `housekeeping` runs.
    static let period = Duration.milliseconds(200)

    private let inbox = Condition(Inbox())

    /// `housekeeping` is called at least every `period`, on the thread.
    func start(housekeeping: @escaping @Sendable (Instant) -> Void) {
        DedicatedThread.start("control") { [inbox] in
            var next = MonotonicClock.now() + Self.period
            while true {
                let batch = inbox.wait(until: next) { inbox -> (work: [@Sendable () -> Void], isStopped: Bool)? in
                    guard !inbox.work.isEmpty || inbox.isStopped else { return nil }
                    return (inbox.work.takeAll(), inbox.isStopped)
                }
                for work in batch?.work ?? [] { work() }
                if batch?.isStopped == true { return }
                let now = MonotonicClock.now()
                if now >= next {
                    housekeeping(now)
                    next = now + Self.period
                }
            }
        }
    }

    /// Runs `work` soon. Never blocks; dropped after `stop`.
    func post(_ work: @escaping @Sendable () -> Void) {
        inbox.change { if !$0.isStopped { $0.work.append(work) } }
    }

    var backlog: BacklogFigures { inbox.look { BacklogFigures(waiting: $0.work.count, peak: $0.work.peak) } }

    /// Ends the thread after what was posted.
    func stop() { inbox.change { $0.isStopped = true } }
}
