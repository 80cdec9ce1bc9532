import Basics
import Glibc

/// The clock of leases: it goes on while the machine is suspended, which `MonotonicClock` does not.
enum BootClock {
    static func now() -> Instant {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return Instant(nanoseconds: Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec))
    }
}
