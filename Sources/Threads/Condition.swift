public import Basics
import Glibc

/// A value behind a lock with a condition variable, for threads that cannot be tasks because they run codecs or keep a
/// clock.
///
/// `@unchecked Sendable`: the value is only accessed with the lock held.
public final class Condition<Value>: @unchecked Sendable {
    /// Which waiting threads are woken to check the value again.
    public enum Waking: Sendable {
        case none, one, all
    }

    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var value: Value

    public init(_ value: sending Value) {
        self.value = value
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    /// Runs `body` with the lock held, then wakes the waiting threads that `waking` selects.
    public func withLock<Result>(waking: Waking = .none, _ body: (inout Value) -> Result) -> Result {
        pthread_mutex_lock(mutex)
        let result = body(&value)
        pthread_mutex_unlock(mutex)
        switch waking {
        case .none: break
        case .one: pthread_cond_signal(condition)
        case .all: pthread_cond_broadcast(condition)
        }
        return result
    }

    /// Blocks the calling thread until `body` returns a value, and returns that value.
    ///
    /// - Parameter deadline: when `body` is called for the last time, whose result is returned even if it is nil.
    ///   Without a deadline the wait is unlimited.
    public func wait<Result>(until deadline: Instant? = nil, _ body: (inout Value) -> Result?) -> Result? {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while true {
            if let result = body(&value) { return result }
            if let deadline {
                var time = timespec(
                    tv_sec: Int(deadline.nanoseconds / 1_000_000_000),
                    tv_nsec: Int(deadline.nanoseconds % 1_000_000_000))
                // Every error ends the wait, not only ETIMEDOUT: a deadline before the clock's zero gives EINVAL.
                if pthread_cond_timedwait(condition, mutex, &time) != 0 { return body(&value) }
            } else {
                pthread_cond_wait(condition, mutex)
            }
        }
    }
}
