/// The smallest value within a sliding window, in amortised constant time; keeps at most 512 values.
public struct SlidingMinimum: Sendable {
    /// Ascending values: each is the smallest of itself and all later ones.
    @usableFromInline var entries: [(time: Instant, value: Int64)] = []

    /// An empty window.
    @inlinable public init() {}

    /// The smallest value; nil before the first one. The newest value is never dropped.
    @inlinable public var value: Int64? { entries.first?.value }

    /// Adds a value and drops those that are older than `window`.
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
