import Foundation
import Threads

/// The processor time that the calling thread spends on `body`, which must not wait. Other tests run meanwhile, so
/// wall-clock time would include theirs. Under a sanitizer (`./scripts/sanitize`) code is about twenty times slower;
/// its time is scaled to the time without.
func processorTime(_ body: () throws -> Void) rethrows -> Duration {
    let start = ThreadClock.nanoseconds()
    try body()
    return Duration.nanoseconds(ThreadClock.nanoseconds() - start) / (ProcessInfo.processInfo.environment["SANITIZED"] == nil ? 1 : 20)
}
