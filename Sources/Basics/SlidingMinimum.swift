/// The smallest of the values of the last while; amortised constant time and at most 512 values.
public struct SlidingMinimum: Sendable {
    /// Values rise from front to back: each is the smallest of all that came after it.
    @usableFromInline var entries: [(time: Instant, value: Int64)] = []

    /// Without a value.
    @inlinable public init() {}

    /// The smallest value; nil before the first one. The newest value never leaves.
    @inlinable public var value: Int64? { entries.first?.value }

    /// Takes a value and forgets those that are older than `window`.
    @inlinable public mutating func insert(_ value: Int64, at now: Instant, window: Duration) {
        while let last = entries.last, last.value >= value { entries.removeLast() }
        entries.append((now, value))
        let oldest = now - window
        let stale = entries.firstIndex { $0.time >= oldest } ?? entries.count - 1
        if stale > 0 { entries.removeFirst(stale) }
        // Values that only rise (a slow clock) would fill the window: halve its resolution.
        if entries.count > 512 {
            entries = entries.enumerated().filter { $0.offset == 0 || $0.offset % 2 == 1 }.map(\.element)
        }
    }
}
