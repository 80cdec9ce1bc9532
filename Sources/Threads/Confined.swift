/// Carries a value that is not Sendable from thread to thread; one thread at a time uses it.
///
/// `@unchecked Sendable`: the owner of each use names the one user: a `SerialLane`, whose jobs never run at the same
/// time, or a dedicated thread.
public final class Confined<Value>: @unchecked Sendable {
    public var value: Value
    public init(_ value: Value) { self.value = value }
}
