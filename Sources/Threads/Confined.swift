/// Something that is not Sendable and wanders from thread to thread, one at a time.
///
/// `@unchecked Sendable`: whoever holds one says who touches it: one `SerialLane`, whose jobs never run at the same
/// time, or one dedicated thread.
public final class Confined<Value>: @unchecked Sendable {
    public var value: Value
    public init(_ value: Value) { self.value = value }
}
