import Glibc

/// The processor time of the calling thread.
public enum ThreadClock {
    /// In nanoseconds since the thread began: user and system time, without waiting.
    public static func nanoseconds() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
}
