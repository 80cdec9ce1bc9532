#if SANITIZE_THREAD
    import Glibc

    /// Stands for `Synchronization.Mutex` in builds for the thread sanitizer, see `./scripts/sanitize`.
    ///
    /// On Linux that one is a futex with priority inheritance: under contention the kernel itself hands the lock from one thread to the next,
    /// and the sanitizer, which sees the program's instructions only, takes what the two do for a race. It knows this one.
    ///
    /// `@unchecked Sendable`: there is no way to the value but through the lock.
    public struct TracedMutex<Value: ~Copyable>: ~Copyable, @unchecked Sendable {
        private let mutex: UnsafeMutablePointer<pthread_mutex_t>
        private let value: UnsafeMutablePointer<Value>

        public init(_ value: consuming sending Value) {
            mutex = .allocate(capacity: 1)
            pthread_mutex_init(mutex, nil)
            self.value = .allocate(capacity: 1)
            self.value.initialize(to: value)
        }

        deinit {
            value.deinitialize(count: 1)
            value.deallocate()
            pthread_mutex_destroy(mutex)
            mutex.deallocate()
        }

        public borrowing func withLock<Result: ~Copyable, Failure: Error>(
            _ body: (inout sending Value) throws(Failure) -> sending Result
        ) throws(Failure) -> sending Result {
            pthread_mutex_lock(mutex)
            defer { pthread_mutex_unlock(mutex) }
            nonisolated(unsafe) let value = value
            return try body(&value.pointee)
        }
    }
#endif
