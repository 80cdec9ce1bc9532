/// Delays that come again: the longest of each half second is remembered for a while. One that stays alone says nothing
/// of what is to come, so nobody waits for it. A value; time is an argument.
public struct RecurringDelays: Hashable, Sendable {
    /// What lies within one such stretch is one delay.
    static let stretch = Duration.milliseconds(500)
    /// So many stretches must lie from one delay to another, or it has not come again.
    static let apart: Int64 = 2

    private struct Longest: Hashable {
        var stretch: Int64
        var delay: Duration
    }

    /// In stretches.
    private let memory: Int64
    private var longest: [Longest] = []

    /// - Parameter memory: how long a delay is remembered; counts in halves of a second.
    public init(memory: Duration) {
        self.memory = memory.nanoseconds / Self.stretch.nanoseconds
    }

    /// Takes a delay that was seen at `now`.
    public mutating func note(_ delay: Duration, at now: Instant) {
        let stretch = now.nanoseconds / Self.stretch.nanoseconds
        if let last = longest.last, last.stretch >= stretch {
            longest[longest.count - 1].delay = max(last.delay, delay)
        } else {
            longest.append(Longest(stretch: stretch, delay: delay))
        }
    }

    /// Forgets what was seen longer ago than `memory`.
    public mutating func forget(at now: Instant) {
        let stretch = now.nanoseconds / Self.stretch.nanoseconds
        longest.removeAll { $0.stretch <= stretch - memory }
    }

    /// The longest delay of each stretch in the order of time; none where they have not come again.
    public var recurring: [Duration] {
        guard let first = longest.first, let last = longest.last, last.stretch - first.stretch >= Self.apart else {
            return []
        }
        return longest.map(\.delay)
    }
}
