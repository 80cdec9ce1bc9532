import Glibc

/// A value that is only touched with its lock held: the one kind of lock of the package. For state that several threads
/// change in short steps; never held across I/O, a codec or an `await`.
///
/// Not `Synchronization.Mutex`, for two reasons. That one asks that nothing of the caller's flows into the value, which
/// does not fit bodies that are handed through; and on Linux it is a futex with priority inheritance, which under
/// contention the kernel hands from one thread to the next, unseen by the thread sanitizer, which takes what the two
/// threads do for a race.
///
/// `@unchecked Sendable`: there is no way to the value but through the lock.
public final class Guarded<Value>: @unchecked Sendable {
    @usableFromInline let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    @usableFromInline var value: Value

    /// Guards a value that nobody else holds.
    public init(_ value: sending Value) {
        self.value = value
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// Runs `body` with the lock held. Not reentrant: a body that comes back for the same lock waits for itself.
    @inlinable
    public func withLock<Result, Failure: Error>(_ body: (inout Value) throws(Failure) -> Result) throws(Failure)
        -> Result
    {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&value)
    }
}
