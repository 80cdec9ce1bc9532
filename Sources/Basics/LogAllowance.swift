/// How many log lines of one kind are written: what strangers can cause must not fill a disk. What it cost is told by a
/// counter; the lines that are left out are counted in the next one.
public final class LogAllowance: Sendable {
    private struct State {
        var bucket: TokenBucket
        var untold = 0
    }

    private let state: Guarded<State>

    /// - Parameters:
    ///   - perSecond: lines in the long run.
    ///   - atOnce: a burst of them.
    public init(perSecond: Double, atOnce: Double, at now: Instant) {
        state = Guarded(State(bucket: TokenBucket(rate: perSecond, size: atOnce, at: now)))
    }

    /// Takes one line. Returns how many were left out since the last one that was written; nil: this one is left out
    /// too.
    public func take(at now: Instant) -> Int? {
        state.withLock { state in
            guard state.bucket.take(at: now) else {
                state.untold += 1
                return nil
            }
            defer { state.untold = 0 }
            return state.untold
        }
    }
}
