import Basics

/// Resumes a continuation with the first of several results.
public final class Once<Value: Sendable>: Sendable {
    private let continuation: Guarded<CheckedContinuation<Value, Never>?>
    public init(_ continuation: CheckedContinuation<Value, Never>) { self.continuation = Guarded(continuation) }

    /// Whether nothing has resumed the continuation yet.
    public var isPending: Bool { continuation.withLock { $0 != nil } }

    /// Resumes the continuation, unless an earlier call did. Returns whether this call was the first.
    @discardableResult
    public func resume(_ value: Value) -> Bool {
        let waiting = continuation.withLock { continuation in
            defer { continuation = nil }
            return continuation
        }
        waiting?.resume(returning: value)
        return waiting != nil
    }
}
