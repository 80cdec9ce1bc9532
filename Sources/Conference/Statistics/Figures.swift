import Basics
import Logging
import Sockets

/// The server's own counters, and when what is done now and then was done last.
final class Figures: Sendable {
    enum Chore: Hashable, Sendable { case layouts, overload, encodeLog }

    private struct State {
        var last: [Chore: Instant] = [:]
        var encodeFailures = 0
    }
    private let state = Guarded(State())

    /// Whether `chore` is due again; then it counts as done.
    func isDue(_ chore: Chore, every period: Duration, at now: Instant) -> Bool {
        state.locked { state in
            if let last = state.last[chore], now - last < period { return false }
            state.last[chore] = now
            return true
        }
    }

    var encodeFailures: Int { state.locked { $0.encodeFailures } }

    /// Counted always, told at most each ten seconds.
    func encodeFailed(_ text: String, _ logger: Logger?) {
        state.locked { $0.encodeFailures += 1 }
        if isDue(.encodeLog, every: .seconds(10), at: MonotonicClock.now()) { logger?.error("encode failed: \(text)") }
    }
}
