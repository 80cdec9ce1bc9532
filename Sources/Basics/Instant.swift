/// A point on the server's one monotonic clock, in nanoseconds since an arbitrary start.
///
/// Nothing below `Threads` reads a clock: time is an argument, so that a whole call runs in virtual time in a test.
public struct Instant: Comparable, Hashable, Sendable {
    /// Nanoseconds since the clock's start.
    public var nanoseconds: Int64

    /// The instant that is `nanoseconds` after the clock's start.
    public init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// The clock's start.
    public static let zero = Instant(nanoseconds: 0)
    /// Later than every instant that happens.
    public static let distantFuture = Instant(nanoseconds: .max)
    /// Earlier than every instant that happens.
    public static let distantPast = Instant(nanoseconds: .min)

    @inlinable public static func < (lhs: Instant, rhs: Instant) -> Bool { lhs.nanoseconds < rhs.nanoseconds }

    /// Saturates instead of wrapping, so that `distantFuture + x` stays in the future.
    @inlinable public static func + (lhs: Instant, rhs: Duration) -> Instant {
        let (sum, overflow) = lhs.nanoseconds.addingReportingOverflow(rhs.nanoseconds)
        return Instant(nanoseconds: overflow ? (rhs.nanoseconds > 0 ? .max : .min) : sum)
    }

    /// Saturates like `+`.
    @inlinable public static func - (lhs: Instant, rhs: Duration) -> Instant {
        let (sum, overflow) = lhs.nanoseconds.subtractingReportingOverflow(rhs.nanoseconds)
        return Instant(nanoseconds: overflow ? (rhs.nanoseconds > 0 ? .min : .max) : sum)
    }

    /// The time from `rhs` to `lhs`, saturating.
    @inlinable public static func - (lhs: Instant, rhs: Instant) -> Duration {
        let (difference, overflow) = lhs.nanoseconds.subtractingReportingOverflow(rhs.nanoseconds)
        return .nanoseconds(overflow ? (lhs > rhs ? Int64.max : Int64.min) : difference)
    }

    /// Saturates like `+`.
    @inlinable public static func += (lhs: inout Instant, rhs: Duration) { lhs = lhs + rhs }

    /// This instant on a media clock of `rate` ticks a second that started with the server's clock, e.g.
    /// `ticks(at: 90_000)` for video.
    @inlinable public func ticks(at rate: Int64) -> Int64 {
        let (seconds, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        return seconds * rate + rest * rate / 1_000_000_000
    }

    /// The instant at which a media clock of `rate` ticks a second shows `ticks`.
    @inlinable public init(ticks: Int64, at rate: Int64) {
        let (seconds, rest) = ticks.quotientAndRemainder(dividingBy: rate)
        self.init(nanoseconds: seconds &* 1_000_000_000 &+ rest * 1_000_000_000 / rate)
    }
}

extension Duration {
    /// The duration in whole nanoseconds, saturating at the limits of `Int64` (292 years).
    @inlinable public var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, overflow2) = product.addingReportingOverflow(attoseconds / 1_000_000_000)
        return overflow || overflow2 ? (seconds > 0 ? .max : .min) : sum
    }

    /// The duration in milliseconds.
    @inlinable public var inMilliseconds: Double { Double(nanoseconds) / 1_000_000 }

    /// The duration in seconds.
    @inlinable public var inSeconds: Double { Double(nanoseconds) / 1_000_000_000 }
}
