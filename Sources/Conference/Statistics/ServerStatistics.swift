import Basics
import Logging
import Threads

/// The server's own counters, and the times of its periodic tasks.
final class ServerStatistics: Sendable {
    enum PeriodicTask: Hashable, Sendable {
        case layouts, overload, encodeLog, snapshots, recordings, streams, lossLog, text, waiting, retention, capacity
        case pictures, disks
    }

    private struct State {
        var last: [PeriodicTask: Instant] = [:]
        var encodeFailures = 0
        var releaseMemory: Instant?
        var releasedMemory = Instant.distantPast
        var peersFailed: [LeaveReason: Int] = [:]
    }
    /// The delay from the end of a seat or room to the release of its memory, in which its lanes finish their jobs.
    private static let releaseDelay = Duration.seconds(2)
    /// The least time between two releases: one takes some milliseconds, in which other threads wait for the allocator.
    private static let releasePeriod = Duration.seconds(10)
    private let state = Guarded(State())

    /// Returns whether `task` is due; if so, its next period begins now.
    func startIfDue(_ task: PeriodicTask, every period: Duration, at now: Instant) -> Bool {
        state.withLock { state in
            if let last = state.last[task], now - last < period { return false }
            state.last[task] = now
            return true
        }
    }

    /// Schedules a release of memory after the end of a room or seat, since glibc keeps the freed memory of its
    /// pictures.
    func ended(at now: Instant) {
        state.withLock { $0.releaseMemory = max($0.releaseMemory ?? .distantPast, now + Self.releaseDelay) }
    }

    /// Returns whether memory is to be released now, and then notes the release: once after a room or seat ended, at
    /// most once in each `releasePeriod`.
    func startReleaseIfDue(at now: Instant) -> Bool {
        state.withLock { state in
            guard let due = state.releaseMemory, now >= due, now >= state.releasedMemory + Self.releasePeriod else {
                return false
            }
            state.releaseMemory = nil
            state.releasedMemory = now
            return true
        }
    }

    /// Peers whose connection failed, by the reason.
    var peersFailed: [LeaveReason: Int] { state.withLock { $0.peersFailed } }

    func countFailedPeer(_ reason: LeaveReason) { state.withLock { $0.peersFailed[reason, default: 0] += 1 } }

    var encodeFailures: Int { state.withLock { $0.encodeFailures } }

    /// Counts a failed encode, and logs at most one in ten seconds.
    func encodeFailed(_ text: String, _ logger: Logger?) {
        state.withLock { $0.encodeFailures += 1 }
        if startIfDue(.encodeLog, every: .seconds(10), at: MonotonicClock.now()) {
            logger?.error("encode failed: \(text)")
        }
    }
}
