public import Glibc

/// A value that is only accessed with its lock held: the only kind of lock in this package. It guards state that
/// several threads change in short steps, and is never held across I/O, a codec call or an `await`.
///
/// `Synchronization.Mutex` does not fit, for two reasons. Its `withLock` takes a `sending` value, which does not fit
/// bodies that are passed through. And on Linux it is a futex with priority inheritance: under contention the kernel
/// passes it from one thread to the next, which the thread sanitizer does not see, so it reports a data race.
///
/// `@unchecked Sendable`: the value is reachable through the lock only.
public final class Guarded<Value>: @unchecked Sendable {
    @usableFromInline let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    @usableFromInline var value: Value

    /// Guards a value that no other code refers to.
    public init(_ value: sending Value) {
        self.value = value
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// Runs `body` with the lock held. Not reentrant: a body that takes the same lock again deadlocks.
    @inlinable
    public func withLock<Result, Failure: Error>(_ body: (inout Value) throws(Failure) -> Result) throws(Failure)
        -> Result
    {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&value)
    }
}
