import Foundation

/// The time that the calling thread's processor spends on `body`, which must not wait. Other tests run meanwhile: what
/// the clock on the wall says of it is theirs too. Under a sanitizer (`./scripts/sanitize`) code is about twenty times
/// slower, and counts as what it takes without.
func processorTime(_ body: () throws -> Void) rethrows -> Duration {
    let start = threadTime()
    try body()
    return (threadTime() - start) / (ProcessInfo.processInfo.environment["SANITIZED"] == nil ? 1 : 20)
}

private func threadTime() -> Duration {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
}
