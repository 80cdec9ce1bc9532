#if SANITIZE_THREAD
    import Basics

    /// Goes before the one of `Synchronization` in this target.
    typealias Mutex<Value: ~Copyable> = TracedMutex<Value>
#endif
