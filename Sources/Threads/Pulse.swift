import Synchronization

/// A question to several threads: whether each has taken work since it was asked. One that hangs never answers.
public final class Pulse: Sendable {
    private let missing = Atomic<Int>(0)

    public init() {}

    /// The answer of one more thread, which calls it once.
    public func expect() -> @Sendable () -> Void {
        missing.wrappingAdd(1, ordering: .relaxed)
        return { [self] in missing.wrappingSubtract(1, ordering: .relaxed) }
    }

    /// Whether every thread has answered.
    public var isComplete: Bool { missing.load(ordering: .relaxed) == 0 }
}
