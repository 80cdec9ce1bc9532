import Glibc

/// A value that is only touched with its lock held. For state that many threads change in short steps; never held across I/O, a codec
/// or an `await`.
///
/// `@unchecked Sendable`: there is no way to the value but through the lock. `Synchronization.Mutex` asks that nothing of
/// the caller's flows into the value, which does not fit bodies that are handed through.
final class Guarded<Value>: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private var value: Value

    init(_ value: Value) {
        self.value = value
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    func locked<Result, Failure: Error>(_ body: (inout Value) throws(Failure) -> Result) throws(Failure) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&value)
    }
}
