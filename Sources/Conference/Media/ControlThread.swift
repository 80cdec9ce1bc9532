import Basics
import RoomMedia
import Threads

/// What happens to rooms because of media or time, and the events to the endpoints: one thread, in order, apart from every clock.
final class ControlThread: Sendable {
    /// Names work of which only the newest matters.
    enum Key: Hashable, Sendable {
        case line(String)
        case tiles(room: String, ViewID)
        case speakers(room: String)
    }

    /// How often `housekeeping` runs.
    static let period = Duration.milliseconds(200)
    /// Where so much waits, what can be left out is: a relayed message is one among thousands then.
    static let limit = 4096

    private let inbox = Mailbox<Key, @Sendable () -> Void>()

    /// `housekeeping` is called at least every `period`, on the thread.
    func start(housekeeping: @escaping @Sendable (Instant) -> Void) {
        DedicatedThread.start("control") { [inbox] in
            var next = MonotonicClock.now() + Self.period
            while true {
                let batch = inbox.wait(until: next)
                for work in batch?.messages ?? [] { work() }
                if batch?.isLast == true { return }
                let now = MonotonicClock.now()
                if now >= next {
                    housekeeping(now)
                    next = now + Self.period
                }
            }
        }
    }

    /// Runs `work` soon. Never blocks; dropped after `stop`. How much of it there can be is bounded by who posts it: seats that come and go.
    func post(_ work: @escaping @Sendable () -> Void) { inbox.post(work) }

    /// The same, in the place of what waits under this key.
    func post(_ key: Key, _ work: @escaping @Sendable () -> Void) { inbox.post(work, replacing: key) }

    /// The same for what may be left out where too much waits; counted.
    func postIfRoom(_ work: @escaping @Sendable () -> Void) { inbox.post(work, upTo: Self.limit) }

    var backlog: BacklogFigures { inbox.backlog }
    var dropped: Int { inbox.dropped }

    /// Ends the thread after what was posted.
    func stop() { inbox.stop() }
}
