import Basics
import Glibc

/// A point on the clock of leases, which goes on while the machine is suspended. That of `MonotonicClock` does not, so
/// the two have types of their own: none is compared with the other.
struct BootInstant: Comparable, Hashable, Sendable {
    private var instant: Instant

    private init(_ instant: Instant) { self.instant = instant }

    /// The time now on CLOCK_BOOTTIME.
    static func now() -> BootInstant {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return BootInstant(Instant(nanoseconds: Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)))
    }

    /// The clock's start.
    static let zero = BootInstant(.zero)
    /// Later than every instant that happens.
    static let distantFuture = BootInstant(.distantFuture)
    /// Earlier than every instant that happens.
    static let distantPast = BootInstant(.distantPast)

    // As `Instant`'s, these saturate.

    static func < (lhs: BootInstant, rhs: BootInstant) -> Bool { lhs.instant < rhs.instant }
    static func + (lhs: BootInstant, rhs: Duration) -> BootInstant { BootInstant(lhs.instant + rhs) }
    static func - (lhs: BootInstant, rhs: Duration) -> BootInstant { BootInstant(lhs.instant - rhs) }
    static func - (lhs: BootInstant, rhs: BootInstant) -> Duration { lhs.instant - rhs.instant }
    static func += (lhs: inout BootInstant, rhs: Duration) { lhs = lhs + rhs }
}
