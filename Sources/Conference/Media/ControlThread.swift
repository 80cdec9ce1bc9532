import Basics
import RoomMedia
import Threads

/// The thread that applies the events of media and time to rooms and delivers events to the endpoints, in order, apart
/// from every clock.
final class ControlThread: Sendable {
    /// Names work of which only the newest matters.
    enum Key: Hashable, Sendable {
        case link(String)
        case tiles(room: String, ViewID)
        case speakers(room: String, GroupID)
    }

    /// How often `housekeeping` runs.
    static let period = Duration.milliseconds(200)
    /// The number of waiting pieces of work from which chat of data channels is dropped.
    static let limit = 4096

    private let inbox = Mailbox<Key, @Sendable () -> Void>()
    /// Deferred work, the soonest first.
    private let timers = Guarded<[Timer]>([])
    private typealias Timer = (due: Instant, work: @Sendable () -> Void)

    /// `housekeeping` is called at least every `period`, on the thread.
    func start(housekeeping: @escaping @Sendable (Instant) -> Void) {
        DedicatedThread.start("control") { [inbox, timers] in
            var next = MonotonicClock.now() + Self.period
            while true {
                let batch = inbox.wait(until: min(next, timers.withLock { $0.first?.due } ?? next))
                for work in batch?.messages ?? [] { work() }
                if batch?.isLast == true { return }
                let now = MonotonicClock.now()
                for work in Self.take(timers, until: now) { work() }
                if now >= next {
                    housekeeping(now)
                    next = now + Self.period
                }
            }
        }
    }

    /// Runs `work` soon. Never blocks; work is dropped after `stop`. The posters bound its amount: seats that come and
    /// go.
    func post(_ work: @escaping @Sendable () -> Void) { inbox.post(work) }

    /// The same; replaces waiting work of the same key.
    func post(_ key: Key, _ work: @escaping @Sendable () -> Void) { inbox.post(work, replacing: key) }

    /// The same for work that is dropped and counted where `limit` pieces wait.
    func postIfRoom(_ work: @escaping @Sendable () -> Void) { inbox.post(work, upTo: Self.limit) }

    /// Runs `work` at `due`, or as soon afterwards as the thread is free; dropped after `stop`.
    func post(at due: Instant, _ work: @escaping @Sendable () -> Void) {
        let isNext = timers.withLock { timers in
            let place = (timers.lastIndex { $0.due <= due } ?? -1) + 1
            timers.insert((due, work), at: place)
            return place == 0
        }
        // Wakes the thread, which may sleep beyond `due`.
        if isNext { inbox.post {} }
    }

    private static func take(_ timers: Guarded<[Timer]>, until now: Instant) -> [@Sendable () -> Void] {
        timers.withLock { timers in
            let due = timers.prefix { $0.due <= now }.map(\.work)
            timers.removeFirst(due.count)
            return due
        }
    }

    var backlog: BacklogStatistics { inbox.backlog }
    var dropped: Int { inbox.dropped }

    /// Ends the thread after the work that was posted before.
    func stop() { inbox.stop() }
}
