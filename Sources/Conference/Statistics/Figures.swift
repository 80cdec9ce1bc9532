import Basics
import Logging
import Sockets

/// The server's own counters, and when what is done now and then was done last.
final class Figures: Sendable {
    enum Chore: Hashable, Sendable { case layouts, overload, encodeLog, recordings, lossLog }

    private struct State {
        var last: [Chore: Instant] = [:]
        var encodeFailures = 0
        var releaseMemory: Instant?
    }
    /// The memory of a room's pictures is free this long after the room ended: its lanes finish what they run.
    private static let afterwork = Duration.seconds(2)
    private let state = Guarded(State())

    /// Whether `chore` is due again; then it counts as done.
    func isDue(_ chore: Chore, every period: Duration, at now: Instant) -> Bool {
        state.locked { state in
            if let last = state.last[chore], now - last < period { return false }
            state.last[chore] = now
            return true
        }
    }

    /// The last room ended: glibc keeps the memory of its pictures for later, which may never come.
    func wasLastRoom(at now: Instant) { state.locked { $0.releaseMemory = now + Self.afterwork } }

    /// Whether memory is to be given back now; once after each time that the last room ended.
    func mustReleaseMemory(at now: Instant, hasRooms: Bool) -> Bool {
        state.locked { state in
            guard let due = state.releaseMemory, now >= due || hasRooms else { return false }
            state.releaseMemory = nil
            return !hasRooms
        }
    }

    var encodeFailures: Int { state.locked { $0.encodeFailures } }

    /// Counted always, told at most each ten seconds.
    func encodeFailed(_ text: String, _ logger: Logger?) {
        state.locked { $0.encodeFailures += 1 }
        if isDue(.encodeLog, every: .seconds(10), at: MonotonicClock.now()) { logger?.error("encode failed: \(text)") }
    }
}
