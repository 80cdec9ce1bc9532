import Basics
import Logging
import Threads

/// The server's own counters, and when what is done now and then was done last.
final class Figures: Sendable {
    enum Chore: Hashable, Sendable { case layouts, overload, encodeLog, snapshots, recordings, lossLog, text }

    private struct State {
        var last: [Chore: Instant] = [:]
        var encodeFailures = 0
        var releaseMemory: Instant?
        var releasedMemory = Instant.distantPast
        var peerLog: TokenBucket?
        var untold = 0
        var peersFailed: [LeaveReason: Int] = [:]
    }
    /// The memory of what ended is free this long after it ended: its lanes finish what they run.
    private static let afterwork = Duration.seconds(2)
    /// Giving memory back takes some milliseconds, in which other threads wait for memory.
    private static let releasePeriod = Duration.seconds(10)
    /// Lines about peers that failed, a second and at once: a whole office may lose its network.
    private static let peerLines = (perSecond: 2.0, atOnce: 20.0)
    private let state = Guarded(State())

    /// Whether `chore` is due again; then it counts as done.
    func isDue(_ chore: Chore, every period: Duration, at now: Instant) -> Bool {
        state.withLock { state in
            if let last = state.last[chore], now - last < period { return false }
            state.last[chore] = now
            return true
        }
    }

    /// A room or a seat ended: glibc keeps the memory of its pictures for later, which may never come.
    func ended(at now: Instant) {
        state.withLock { $0.releaseMemory = max($0.releaseMemory ?? .distantPast, now + Self.afterwork) }
    }

    /// Whether memory is to be given back now: once after something ended, and not more often than each `releasePeriod`.
    func mustReleaseMemory(at now: Instant) -> Bool {
        state.withLock { state in
            guard let due = state.releaseMemory, now >= due, now >= state.releasedMemory + Self.releasePeriod else { return false }
            state.releaseMemory = nil
            state.releasedMemory = now
            return true
        }
    }

    /// Peers whose connection failed, by what became of them.
    var peersFailed: [LeaveReason: Int] { state.withLock { $0.peersFailed } }

    /// Counted always, told so often as `peerLines` has it: what the peer did wrong is no fault of ours.
    func peerFailed(_ why: String, _ reason: LeaveReason, participant: String, room: String, _ logger: Logger) {
        let now = MonotonicClock.now()
        let untold: Int? = state.withLock { state in
            state.peersFailed[reason, default: 0] += 1
            var bucket = state.peerLog ?? TokenBucket(rate: Self.peerLines.perSecond, size: Self.peerLines.atOnce, at: now)
            defer { state.peerLog = bucket }
            guard bucket.take(at: now) else {
                state.untold += 1
                return nil
            }
            defer { state.untold = 0 }
            return state.untold
        }
        guard let untold else { return }
        var metadata: Logger.Metadata = ["room": "\(room)", "participant": "\(participant)", "reason": "\(reason.rawValue)"]
        if untold > 0 { metadata["untold"] = "\(untold)" }
        logger.notice("a peer's connection ended: \(why)", metadata: metadata)
    }

    var encodeFailures: Int { state.withLock { $0.encodeFailures } }

    /// Counted always, told at most each ten seconds.
    func encodeFailed(_ text: String, _ logger: Logger?) {
        state.withLock { $0.encodeFailures += 1 }
        if isDue(.encodeLog, every: .seconds(10), at: MonotonicClock.now()) { logger?.error("encode failed: \(text)") }
    }
}
