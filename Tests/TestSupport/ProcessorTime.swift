import Basics
import Threads

/// The processor time that the calling thread spends on `body`, which must not wait. Other tests run meanwhile, so wall
/// time would include theirs. Under a sanitizer (`./scripts/sanitize`) code is about twenty times slower, so the time
/// is divided accordingly.
package func processorTime(_ body: () throws -> Void) rethrows -> Duration {
    let start = ThreadClock.nanoseconds()
    try body()
    return .nanoseconds(ThreadClock.nanoseconds() - start) / (isSanitized ? 20 : 1)
}
