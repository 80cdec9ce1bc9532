/// Limits how many log lines of one kind are written, because lines that outsiders can cause must not fill the disk.
/// The next line that is written reports how many were left out.
public final class LogAllowance: Sendable {
    private struct State {
        var bucket: TokenBucket
        var leftOut = 0
    }

    private let state: Guarded<State>

    /// - Parameters:
    ///   - perSecond: lines per second in the long run.
    ///   - atOnce: lines in one burst.
    public init(perSecond: Double, atOnce: Double, at now: Instant) {
        state = Guarded(State(bucket: TokenBucket(rate: perSecond, size: atOnce, at: now)))
    }

    /// Asks for one line. Returns how many were left out since the last written line; nil where this line must be left
    /// out too.
    public func take(at now: Instant) -> Int? {
        state.withLock { state in
            guard state.bucket.take(at: now) else {
                state.leftOut += 1
                return nil
            }
            defer { state.leftOut = 0 }
            return state.leftOut
        }
    }
}
