import Basics
import Sockets

/// What happens to rooms because of media or time, and the events to the endpoints: one thread, in order, apart from every clock.
final class ControlThread: Sendable {
    /// Names work of which only the newest matters.
    enum Key: Hashable, Sendable {
        case line(String)
        case tiles(room: String, ViewID)
        case speakers(room: String)
    }

    private struct Inbox {
        var work: [@Sendable () -> Void] = []
        /// Where the work of each key waits.
        var places: [Key: Int] = [:]
        var peak = 0
        var dropped = 0
        var isStopped = false

        mutating func append(_ item: @escaping @Sendable () -> Void) {
            work.append(item)
            peak = max(peak, work.count)
        }

        mutating func takeAll() -> [@Sendable () -> Void] {
            defer {
                work.removeAll()
                places.removeAll(keepingCapacity: true)
            }
            return work
        }
    }

    /// How often `housekeeping` runs.
    static let period = Duration.milliseconds(200)
    /// Where so much waits, what can be left out is: a relayed message is one among thousands then.
    static let limit = 4096

    private let inbox = Condition(Inbox())

    /// `housekeeping` is called at least every `period`, on the thread.
    func start(housekeeping: @escaping @Sendable (Instant) -> Void) {
        DedicatedThread.start("control") { [inbox] in
            var next = MonotonicClock.now() + Self.period
            while true {
                let batch = inbox.wait(until: next) { inbox -> (work: [@Sendable () -> Void], isStopped: Bool)? in
                    guard !inbox.work.isEmpty || inbox.isStopped else { return nil }
                    return (inbox.takeAll(), inbox.isStopped)
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

    /// Runs `work` soon. Never blocks; dropped after `stop`. How much of it there can be is bounded by who posts it: seats that come and go.
    func post(_ work: @escaping @Sendable () -> Void) {
        inbox.change { if !$0.isStopped { $0.append(work) } }
    }

    /// The same, in the place of what waits under this key.
    func post(_ key: Key, _ work: @escaping @Sendable () -> Void) {
        inbox.change { inbox in
            if inbox.isStopped { return }
            if let place = inbox.places[key] {
                inbox.work[place] = work
                return
            }
            inbox.places[key] = inbox.work.count
            inbox.append(work)
        }
    }

    /// The same for what may be left out where too much waits; counted.
    func postIfRoom(_ work: @escaping @Sendable () -> Void) {
        inbox.change { inbox in
            if inbox.isStopped { return }
            if inbox.work.count < Self.limit { inbox.append(work) } else { inbox.dropped += 1 }
        }
    }

    var backlog: BacklogFigures { inbox.look { BacklogFigures(waiting: $0.work.count, peak: $0.peak) } }
    var dropped: Int { inbox.look { $0.dropped } }

    /// Ends the thread after what was posted.
    func stop() { inbox.change { $0.isStopped = true } }
}
