import Basics

/// When the service manager is told that the server is alive: every half of its limit, and later where the threads
/// have not answered, at the next look after they did.
struct WatchdogSchedule: Sendable {
    /// How often to look.
    let step: Duration
    private let period: Duration
    private var next: Instant

    /// - Parameter limit: the time after which the service manager ends a silent server.
    init(limit: Duration, at now: Instant) {
        period = limit / 2
        step = max(.milliseconds(1), limit / 8)
        next = now
    }

    /// Returns whether to tell it now, and to ask the threads anew.
    mutating func tells(at now: Instant, isAlive: Bool) -> Bool {
        guard isAlive, now >= next else { return false }
        // By the schedule, so that late looks do not add up; never in bursts.
        next = max(next + period, now + period - step)
        return true
    }
}
