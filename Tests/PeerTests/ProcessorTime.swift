import Foundation
import Threads

/// The time that the calling thread's processor spends on `body`, which must not wait. Other tests run meanwhile: what
/// the clock on the wall says of it is theirs too. Under a sanitizer (`./scripts/sanitize`) code is about twenty times
/// slower, and counts as what it takes without.
func processorTime(_ body: () throws -> Void) rethrows -> Duration {
    let start = ThreadClock.nanoseconds()
    try body()
    return Duration.nanoseconds(ThreadClock.nanoseconds() - start) / (ProcessInfo.processInfo.environment["SANITIZED"] == nil ? 1 : 20)
}
