import Basics
import CSockets
import Glibc
import Threads

/// What other threads hand to a loop: the work, and the descriptor that wakes the thread which sleeps in the kernel.
final class LoopInbox: Sendable {
    enum Work: Sendable {
        /// Of whoever lives on the loop.
        case run(@Sendable () -> Void)
        /// Of another loop, between the sockets.
        case core(@Sendable (LoopCore) -> Void)
    }

    let descriptor: Int32
    private let mailbox = Mailbox<Never, Work>()

    init() throws(NetworkError) {
        descriptor = eventfd(0, Int32(EFD_NONBLOCK) | Int32(EFD_CLOEXEC))
        guard descriptor >= 0 else { throw NetworkError("create an event descriptor", code: errno) }
    }

    deinit { close(descriptor) }

    /// Never blocks; dropped when the loop has stopped.
    func post(_ work: Work) {
        if mailbox.post(work) { wakeUp() }
    }

    func take() -> Mailbox<Never, Work>.Batch { mailbox.take() }

    /// The descriptor tells of work again.
    func acknowledge() {
        var value: UInt64 = 0
        _ = read(descriptor, &value, 8)
    }

    /// Ends the loop after what was posted.
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
