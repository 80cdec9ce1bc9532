#if SANITIZE_THREAD
    import Basics

    /// Goes before the one of `Synchronization` in this target, and before that of the target under test.
    typealias Mutex<Value: ~Copyable> = TracedMutex<Value>
#endif
