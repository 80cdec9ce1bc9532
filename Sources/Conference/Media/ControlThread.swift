import Basics
import RoomMedia
import Threads

/// What happens to rooms because of media or time, and the events to the endpoints: one thread, in order, apart from
/// every clock.
final class ControlThread: Sendable {
    /// Names work of which only the newest matters.
    enum Key: Hashable, Sendable {
        case link(String)
        case tiles(room: String, ViewID)
        case speakers(room: String)
    }

    /// How often `housekeeping` runs.
    static let period = Duration.milliseconds(200)
    /// Where so much waits, what can be left out is: a relayed message is one among thousands then.
    static let limit = 4096

    private let inbox = Mailbox<Key, @Sendable () -> Void>()
    /// Work for later, the soonest first.
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

    /// Runs `work` soon. Never blocks; dropped after `stop`. How much of it there can be is bounded by who posts it:
    /// seats that come and go.
    func post(_ work: @escaping @Sendable () -> Void) { inbox.post(work) }

    /// The same, in the place of what waits under this key.
    func post(_ key: Key, _ work: @escaping @Sendable () -> Void) { inbox.post(work, replacing: key) }

    /// The same for what may be left out where too much waits; counted.
    func postIfRoom(_ work: @escaping @Sendable () -> Void) { inbox.post(work, upTo: Self.limit) }

    /// Runs `work` at `due`, or as soon afterwards as the thread comes to it; dropped after `stop`.
    func post(at due: Instant, _ work: @escaping @Sendable () -> Void) {
        let isNext = timers.withLock { timers in
            let place = (timers.lastIndex { $0.due <= due } ?? -1) + 1
            timers.insert((due, work), at: place)
            return place == 0
        }
        // The thread may sleep for longer than that.
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

    /// Ends the thread after what was posted.
    func stop() { inbox.stop() }
}
