import NIOCore

/// Ends a connection that keeps us waiting. Stands in front of everything else, TLS included, as long as the connection
/// lives.
///
/// What is waited for is told by `RequestWatch`, which understands HTTP. Beside that, whatever we send must move: a
/// reader that takes nothing for half a minute is gone.
final class ConnectionGuard: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = IOData

    /// What the client has to do next.
    enum Wait: Sendable {
        case tls, head, body, idle, nothing

        /// A minute is what slow lines need for nothing of this: 10 s for a request's head are 60 bytes a second.
        var limit: TimeAmount? {
            switch self {
            case .tls, .head: .seconds(10)
            // The largest body that is taken, 256 KiB, at 70 kbit/s.
            case .body, .idle: .seconds(30)
            case .nothing: nil
            }
        }

        var ending: ConnectionGate.Ending? {
            switch self {
            case .tls: .tls
            case .head: .head
            case .body: .body
            case .idle: .idle
            case .nothing: nil
            }
        }
    }

    /// Bytes that a WebSocket in no room may send in all. A join has a few hundred, with a token 10 KiB; a frame that
    /// is not complete waits in memory, whoever sent it.
    static let outsideBytes = 128 * 1024

    /// More came than `allow` allows. What comes from then on is dropped here, so that it fills no memory, and still
    /// read: a socket that is closed with unread bytes resets the connection, and the words that say why get lost.
    /// Whoever hears of it ends the connection.
    struct AllowanceSpent: Error, Equatable {}

    /// Nothing of what was written has left for so long.
    static let stallLimit = TimeAmount.seconds(30)

    private let ticket: ConnectionGate.Ticket
    private(set) var wait: Wait
    private var waitsSince = NIODeadline.uptimeNanoseconds(0)
    /// Bytes that may still come; nil: as many as want to.
    private var allowance: Int?
    private var isSpent = false
    private var unwritten = 0
    private var lastProgress = NIODeadline.uptimeNanoseconds(0)
    private var context: ChannelHandlerContext?
    private var check: Scheduled<Void>?
    private var checkAt = NIODeadline.distantFuture

    init(_ ticket: ConnectionGate.Ticket, wait: Wait) {
        self.ticket = ticket
        self.wait = wait
    }

    /// What the client has to do from now on. Called on the event loop.
    func expect(_ next: Wait) {
        wait = next
        guard let context else { return }
        waitsSince = context.eventLoop.now
        schedule()
    }

    /// How many bytes may come from now on, before `AllowanceSpent` goes up the pipeline; nil: as many as want to.
    /// Called on the event loop.
    func allow(bytes: Int?) { allowance = bytes }

    /// Whether as many bytes may come as want to.
    var isUnlimited: Bool { allowance == nil }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        waitsSince = context.eventLoop.now
        schedule()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        check?.cancel()
        check = nil
        self.context = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // The next request begins.
        if wait == .idle { expect(.head) }
        if isSpent { return }
        if let left = allowance {
            let bytes = unwrapInboundIn(data).readableBytes
            guard bytes <= left else {
                isSpent = true
                return context.fireErrorCaught(AllowanceSpent())
            }
            allowance = left - bytes
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let written = promise ?? context.eventLoop.makePromise(of: Void.self)
        let bytes = unwrapOutboundIn(data).readableBytes
        if unwritten == 0 { lastProgress = context.eventLoop.now }
        unwritten += 1
        written.futureResult.assumeIsolated().whenComplete { _ in self.wrote(bytes) }
        ticket.queued(bytes)
        context.write(data, promise: written)
        schedule()
    }

    private func wrote(_ bytes: Int) {
        unwritten -= 1
        ticket.sent(bytes)
        if let context { lastProgress = context.eventLoop.now }
    }

    private var deadline: NIODeadline? {
        let waited = wait.limit.map { waitsSince + $0 }
        let stalled = unwritten > 0 ? lastProgress + ConnectionGuard.stallLimit : nil
        return [waited, stalled].compactMap { $0 }.min()
    }

    /// One look at a time: it is moved only towards an earlier end, and looks again where the end has moved away
    /// meanwhile.
    private func schedule() {
        guard let context, let deadline, check == nil || deadline < checkAt else { return }
        check?.cancel()
        checkAt = deadline
        check = context.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) { self.look() }
    }

    private func look() {
        check = nil
        guard let context else { return }
        let now = context.eventLoop.now
        if unwritten > 0, now >= lastProgress + ConnectionGuard.stallLimit {
            ticket.count(.stalled)
            return context.close(promise: nil)
        }
        if let limit = wait.limit, let ending = wait.ending, now >= waitsSince + limit {
            ticket.count(ending)
            return context.close(promise: nil)
        }
        schedule()
    }
}
