import CThreads
import Glibc

/// A thread outside the cooperative pool, for work that keeps a clock or may block.
public enum DedicatedThread {
    /// Starts a detached thread that runs `body` once.
    ///
    /// - Parameters:
    ///   - name: the system's tools show at most 15 bytes of it.
    ///   - realtimePriority: SCHED_FIFO priority to try for; where the system refuses it, the thread runs as usual.
    ///   - niceness: the thread's nice value, so that encoders give way to the network; below zero where the system
    ///     allows it.
    /// - Returns: whether the system could start it.
    @discardableResult
    public static func start(
        _ name: String, realtimePriority: Int32? = nil, niceness: Int32 = 0, _ body: sending @escaping () -> Void
    ) -> Bool {
        let start = Unmanaged.passRetained(
            Start(name: name, priority: realtimePriority, niceness: niceness, body: body))
        var thread = pthread_t()
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        // x264 keeps large tables on the stack.
        pthread_attr_setstacksize(&attributes, 4 << 20)
        if pthread_create(&thread, &attributes, runThread, start.toOpaque()) == 0 { return true }
        start.release()
        return false
    }
}

private final class Start {
    let name: String
    let priority: Int32?
    let niceness: Int32
    let body: () -> Void

    init(name: String, priority: Int32?, niceness: Int32, body: @escaping () -> Void) {
        self.name = name
        self.priority = priority
        self.niceness = niceness
        self.body = body
    }
}

/// A top-level function, because the compiler infers the main actor for a closure literal in a test or below `@main`.
private nonisolated func runThread(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context else { return nil }
    let start = Unmanaged<Start>.fromOpaque(context).takeRetainedValue()
    threads_name_current(String(start.name.prefix(15)))
    if let priority = start.priority {
        var parameters = sched_param(sched_priority: priority)
        pthread_setschedparam(pthread_self(), SCHED_FIFO, &parameters)
    }
    if start.niceness != 0 {
        // On Linux a nice value belongs to the thread: 0 means the calling one.
        setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, start.niceness)
    }
    start.body()
    return nil
}
