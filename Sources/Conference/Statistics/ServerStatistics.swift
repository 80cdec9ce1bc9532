import Basics
import Logging
import Threads

/// The server's own counters, and when what is done now and then was done last.
final class ServerStatistics: Sendable {
    enum PeriodicTask: Hashable, Sendable { case layouts, overload, encodeLog, snapshots, recordings, lossLog, text }

    private struct State {
        var last: [PeriodicTask: Instant] = [:]
        var encodeFailures = 0
        var releaseMemory: Instant?
        var releasedMemory = Instant.distantPast
        var peersFailed: [LeaveReason: Int] = [:]
    }
    /// The memory of what ended is free this long after it ended: its lanes finish what they run.
    private static let releaseDelay = Duration.seconds(2)
    /// Giving memory back takes some milliseconds, in which other threads wait for memory.
    private static let releasePeriod = Duration.seconds(10)
    private let state = Guarded(State())

    /// Whether `task` is due again; if so, its next period begins now.
    func startIfDue(_ task: PeriodicTask, every period: Duration, at now: Instant) -> Bool {
        state.withLock { state in
            if let last = state.last[task], now - last < period { return false }
            state.last[task] = now
            return true
        }
    }

    /// A room or a seat ended: glibc keeps the memory of its pictures for later, which may never come.
    func ended(at now: Instant) {
        state.withLock { $0.releaseMemory = max($0.releaseMemory ?? .distantPast, now + Self.releaseDelay) }
    }

    /// Whether memory is to be given back now: once after something ended, and not more often than each
    /// `releasePeriod`.
    func mustReleaseMemory(at now: Instant) -> Bool {
        state.withLock { state in
            guard let due = state.releaseMemory, now >= due, now >= state.releasedMemory + Self.releasePeriod else {
                return false
            }
            state.releaseMemory = nil
            state.releasedMemory = now
            return true
        }
    }

    /// Peers whose connection failed, by what became of them.
    var peersFailed: [LeaveReason: Int] { state.withLock { $0.peersFailed } }

    func countFailedPeer(_ reason: LeaveReason) { state.withLock { $0.peersFailed[reason, default: 0] += 1 } }

    var encodeFailures: Int { state.withLock { $0.encodeFailures } }

    /// Counted always, told at most each ten seconds.
    func encodeFailed(_ text: String, _ logger: Logger?) {
        state.withLock { $0.encodeFailures += 1 }
        if startIfDue(.encodeLog, every: .seconds(10), at: MonotonicClock.now()) {
            logger?.error("encode failed: \(text)")
        }
    }
}
