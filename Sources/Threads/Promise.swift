import Basics

/// A value that comes once, from any thread, and that one task waits for.
public final class Promise<Value: Sendable>: Sendable {
    private enum State: Sendable {
        case open
        case awaited(CheckedContinuation<Value?, Never>)
        /// Nobody has taken the value yet.
        case kept(Value?)
        case over
    }

    private let state = Guarded(State.open)

    public init() {}

    /// Whether no value has come yet, and one would still be taken.
    public var isPending: Bool {
        state.withLock { state in
            switch state {
            case .open, .awaited: true
            case .kept, .over: false
            }
        }
    }

    /// Gives the value. Returns false where another one came before, or the wait is over.
    @discardableResult
    public func fulfil(_ value: Value) -> Bool { settle(value) }

    /// Ends the wait without a value, unless one has come.
    public func abandon() { settle(nil) }

    /// Waits for the value, for one task.
    ///
    /// - Parameter limit: what comes later is not taken any more.
    /// - Returns: nil where the limit is over, or `abandon` was called.
    @discardableResult
    public func value(within limit: Duration) async -> Value? {
        let timer = Task {
            do { try await Task.sleep(for: limit) } catch { return }
            abandon()
        }
        defer { timer.cancel() }
        return await withCheckedContinuation { continuation in
            let kept: Value?? = state.withLock { state in
                if case .kept(let value) = state {
                    state = .over
                    return .some(value)
                }
                state = .awaited(continuation)
                return nil
            }
            if let kept { continuation.resume(returning: kept) }
        }
    }

    @discardableResult
    private func settle(_ value: Value?) -> Bool {
        let (isTaken, waiting): (Bool, CheckedContinuation<Value?, Never>?) = state.withLock { state in
            switch state {
            case .open:
                state = .kept(value)
                return (true, nil)
            case .awaited(let continuation):
                state = .over
                return (true, continuation)
            case .kept, .over: return (false, nil)
            }
        }
        waiting?.resume(returning: value)
        return isTaken
    }
}

/// Runs `body`, and returns its value. Where that takes longer than `limit`, or the task of the caller is cancelled,
/// returns nil at once: `body` is cancelled, and not waited for.
@discardableResult
public func atMost<Value: Sendable>(
    _ limit: Duration, _ body: @escaping @Sendable () async -> Value
) async -> Value? {
    let promise = Promise<Value>()
    let work = Task { promise.fulfil(await body()) }
    defer { work.cancel() }
    return await withTaskCancellationHandler {
        await promise.value(within: limit)
    } onCancel: {
        promise.abandon()
    }
}
