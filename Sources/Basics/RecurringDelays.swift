/// Delays that recur: the longest delay of each half second is kept for `window`. A single delay does not predict the
/// next, so it is not reported. A value; time is an argument.
public struct RecurringDelays: Hashable, Sendable {
    /// Delays within one bucket count as one delay.
    static let bucket = Duration.milliseconds(500)
    /// Buckets from the first delay to the last at least, for delays that count as recurring.
    static let minimumSpan: Int64 = 2

    private struct Longest: Hashable {
        var bucket: Int64
        var delay: Duration
    }

    /// In buckets.
    private let window: Int64
    private var longest: [Longest] = []

    /// - Parameter window: how long a delay is kept, in whole buckets of half a second.
    public init(window: Duration) {
        self.window = window.nanoseconds / Self.bucket.nanoseconds
    }

    /// Adds a delay that was measured at `now`.
    public mutating func note(_ delay: Duration, at now: Instant) {
        let bucket = now.nanoseconds / Self.bucket.nanoseconds
        if let last = longest.last, last.bucket >= bucket {
            longest[longest.count - 1].delay = max(last.delay, delay)
        } else {
            longest.append(Longest(bucket: bucket, delay: delay))
        }
    }

    /// Drops delays that are older than `window`.
    public mutating func forget(at now: Instant) {
        let bucket = now.nanoseconds / Self.bucket.nanoseconds
        longest.removeAll { $0.bucket <= bucket - window }
    }

    /// The longest delay of each bucket, oldest first; empty where the delays do not recur.
    public var recurring: [Duration] {
        guard let first = longest.first, let last = longest.last, last.bucket - first.bucket >= Self.minimumSpan else {
            return []
        }
        return longest.map(\.delay)
    }
}
