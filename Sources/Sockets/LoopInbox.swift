import Basics
import CSockets
import Glibc
import Threads

/// The work that other threads post to a loop, and the descriptor that wakes the loop's thread in the kernel.
final class LoopInbox: Sendable {
    enum Work: Sendable {
        /// Work for the loop's delegate.
        case run(@Sendable () -> Void)
        /// Work that another loop posts for this loop's sockets.
        case core(@Sendable (LoopCore) -> Void)
    }

    let descriptor: Int32
    private let mailbox = Mailbox<Never, Work>()

    init() throws(NetworkError) {
        descriptor = eventfd(0, Int32(EFD_NONBLOCK) | Int32(EFD_CLOEXEC))
        guard descriptor >= 0 else { throw NetworkError("create an event descriptor", code: errno) }
    }

    deinit { close(descriptor) }

    /// Posts work without blocking; drops it when the loop has stopped.
    func post(_ work: Work) {
        if mailbox.post(work) { wakeUp() }
    }

    func take() -> Mailbox<Never, Work>.Batch { mailbox.take() }

    /// Resets the descriptor, so that the next work signals it again.
    func acknowledge() {
        var value: UInt64 = 0
        _ = read(descriptor, &value, 8)
    }

    /// Ends the loop after the work that was posted before.
    func stop() {
        mailbox.stop()
        wakeUp()
    }

    var backlog: BacklogStatistics { mailbox.backlog }

    private func wakeUp() {
        var one: UInt64 = 1
        _ = write(descriptor, &one, 8)
    }
}
