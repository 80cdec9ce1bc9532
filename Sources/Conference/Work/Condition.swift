import Basics
import Glibc

/// A value behind a lock that threads can wait at, for those that cannot be a task: they run codecs or keep a clock.
///
/// `@unchecked Sendable`: the value is only ever touched with the lock held.
final class Condition<Value>: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var value: Value

    init(_ value: sending Value) {
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

    /// Changes the value and wakes who waits.
    func change<Result>(wakingAll: Bool = false, _ body: (inout Value) -> Result) -> Result {
        pthread_mutex_lock(mutex)
        let result = body(&value)
        pthread_mutex_unlock(mutex)
        if wakingAll { pthread_cond_broadcast(condition) } else { pthread_cond_signal(condition) }
        return result
    }

    /// Looks at the value and wakes nobody.
    func look<Result>(_ body: (Value) -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body(value)
    }

    /// Waits until `body` gives something, at the latest until `deadline`.
    func wait<Result>(until deadline: Instant? = nil, _ body: (inout Value) -> Result?) -> Result? {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while true {
            if let result = body(&value) { return result }
            if let deadline {
                var time = timespec(
                    tv_sec: Int(deadline.nanoseconds / 1_000_000_000), tv_nsec: Int(deadline.nanoseconds % 1_000_000_000))
                if pthread_cond_timedwait(condition, mutex, &time) == ETIMEDOUT { return body(&value) }
            } else {
                pthread_cond_wait(condition, mutex)
            }
        }
    }
}

/// Something that is not Sendable and wanders from thread to thread, one at a time.
///
/// `@unchecked Sendable`: whoever holds one says who touches it; in this target that is always one `SerialLane`, whose jobs never
/// run at the same time, or one dedicated thread.
final class Confined<Value>: @unchecked Sendable {
    var value: Value
    init(_ value: Value) { self.value = value }
}
