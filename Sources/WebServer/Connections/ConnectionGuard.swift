package import NIOCore

/// Ends a connection whose client keeps the server waiting. The first handler of the pipeline, in front of TLS, during
/// the life of the connection.
///
/// `RequestWatch`, which understands HTTP, sets what the client has to do next. Besides, sent data must make progress:
/// a reader that takes nothing for half a minute is gone.
package final class ConnectionGuard: ChannelDuplexHandler {
    package typealias InboundIn = ByteBuffer
    package typealias OutboundIn = IOData

    /// The client's next step, for which the server waits.
    package enum Wait: Sendable {
        case tls, head, body, largeBody, idle, nothing

        /// Even slow links need no more: 10 s for a request's head are 60 bytes a second.
        package var limit: TimeAmount? {
            switch self {
            case .tls, .head: .seconds(10)
            // The largest body that is taken, 256 KiB, at 70 kbit/s.
            // A large one gets more time while it keeps its rate.
            case .body, .largeBody, .idle: .seconds(30)
            case .nothing: nil
            }
        }

        package var ending: ConnectionGate.Ending? {
            switch self {
            case .tls: .tls
            case .head: .head
            case .body, .largeBody: .body
            case .idle: .idle
            case .nothing: nil
            }
        }
    }

    /// Bytes that a WebSocket outside of any room may send in total. A join has a few hundred, with a token 10 KiB; an
    /// incomplete frame waits in memory even before the client is known.
    package static let outsideBytes = 128 * 1024

    /// The client sent more than `allow` allows. The guard drops further bytes, so that they take no memory, but still
    /// reads them: closing a socket with unread bytes resets the connection, and the message with the reason is lost.
    /// The handler that gets this error ends the connection.
    struct AllowanceSpent: Error, Equatable {}

    /// What a body or message of more than `LargeBodies.freeBytes` has to bring on average, in bytes a second, but for
    /// its first seconds: it holds one of few places. A picture of 8 MiB takes 138 s then.
    static let largeBodyRate = 65_536
    static let largeBodyStart = TimeAmount.seconds(10)

    /// The limit of the time in which no written byte leaves.
    package static let stallLimit = TimeAmount.seconds(30)

    private let ticket: ConnectionGate.Ticket
    package private(set) var wait: Wait
    private var waitsSince = NIODeadline.uptimeNanoseconds(0)
    /// Bytes of the body since then.
    private var waitedBytes = 0
    private var messageSince = NIODeadline.uptimeNanoseconds(0)
    /// Bytes that may still come; nil: unlimited.
    private var allowance: Int?
    private var isSpent = false
    /// Bytes since the last whole message, the place of a large one, and where to take it; nil: messages are unlimited.
    private var messageBytes = 0
    private var largeMessage: LargeBodies.Permit?
    private var takeLargeMessage: (() -> LargeBodies.Permit?)?
    private var unwritten = 0
    private var lastProgress = NIODeadline.uptimeNanoseconds(0)
    private var context: ChannelHandlerContext?
    private var check: Scheduled<Void>?
    private var checkAt = NIODeadline.distantFuture

    package init(_ ticket: ConnectionGate.Ticket, wait: Wait) {
        self.ticket = ticket
        self.wait = wait
    }

    /// Sets the client's next step from now on. Called on the event loop.
    package func expect(_ next: Wait) {
        wait = next
        waitedBytes = 0
        guard let context else { return }
        waitsSince = context.eventLoop.now
        schedule()
    }

    /// Sets how many bytes may come from now on before `AllowanceSpent` goes up the pipeline; nil: unlimited. Called on
    /// the event loop.
    package func allow(bytes: Int?) { allowance = bytes }

    /// Counts bytes of a message that were not received, but inflated. Returns false where the client may not send so
    /// many. Called on the event loop.
    func takesInflated(_ bytes: Int) -> Bool {
        guard let left = allowance else { return true }
        allowance = max(0, left - bytes)
        return bytes <= left
    }

    /// Makes every message of more than `LargeBodies.freeBytes` take a place; where none is left, `AllowanceSpent` goes
    /// up the pipeline. Called on the event loop.
    func limitMessages(_ take: @escaping () -> LargeBodies.Permit?) { takeLargeMessage = take }

    /// Notes the end of a message. Called on the event loop.
    func messageEnded() {
        messageBytes = 0
        largeMessage = nil
    }

    /// Whether the number of bytes is unlimited.
    var isUnlimited: Bool { allowance == nil }

    package func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        waitsSince = context.eventLoop.now
        schedule()
    }

    package func handlerRemoved(context: ChannelHandlerContext) {
        check?.cancel()
        check = nil
        self.context = nil
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // The next request begins.
        if wait == .idle { expect(.head) }
        if isSpent { return }
        if wait == .largeBody { came(unwrapInboundIn(data).readableBytes) }
        // Only a WebSocket has these limits.
        if allowance != nil || takeLargeMessage != nil, !takes(unwrapInboundIn(data).readableBytes) {
            isSpent = true
            return context.fireErrorCaught(AllowanceSpent())
        }
        context.fireChannelRead(data)
    }

    /// Counts bytes of a large body. The first ones beyond those that need no place may bring its end nearer.
    package func came(_ bytes: Int) {
        let wasFree = waitedBytes <= LargeBodies.freeBytes
        waitedBytes += bytes
        if wasFree, waitedBytes > LargeBodies.freeBytes { schedule() }
    }

    /// Counts received bytes. Returns false where the client may not send them.
    private func takes(_ bytes: Int) -> Bool {
        if messageBytes == 0, let context { messageSince = context.eventLoop.now }
        messageBytes += bytes
        if let takeLargeMessage, messageBytes > LargeBodies.freeBytes, largeMessage == nil {
            largeMessage = takeLargeMessage()
            if largeMessage == nil { return false }
            schedule()
        }
        if largeMessage?.isLost == true { return false }
        if let left = allowance {
            if bytes > left { return false }
            allowance = left - bytes
        }
        return true
    }

    package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
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
        let waited = bodyEnd ?? wait.limit.map { waitsSince + $0 }
        let stalled = unwritten > 0 ? lastProgress + ConnectionGuard.stallLimit : nil
        return [waited, messageEnd, stalled].compactMap { $0 }.min()
    }

    /// When a large body ends that has not brought enough by then.
    private var bodyEnd: NIODeadline? {
        wait == .largeBody && waitedBytes > LargeBodies.freeBytes ? Self.end(since: waitsSince, waitedBytes) : nil
    }

    /// The same of a large message.
    private var messageEnd: NIODeadline? {
        largeMessage == nil ? nil : Self.end(since: messageSince, messageBytes)
    }

    private static func end(since start: NIODeadline, _ bytes: Int) -> NIODeadline {
        start + largeBodyStart + .milliseconds(Int64(bytes) * 1000 / Int64(largeBodyRate))
    }

    /// Schedules one check at a time: it is moved only to an earlier deadline, and repeats where the deadline has
    /// become later meanwhile.
    private func schedule() {
        guard let context, let deadline, check == nil || deadline < checkAt else { return }
        check?.cancel()
        checkAt = deadline
        check = context.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) { self.checkDeadlines() }
    }

    private func checkDeadlines() {
        check = nil
        guard let context else { return }
        let now = context.eventLoop.now
        if unwritten > 0, now >= lastProgress + ConnectionGuard.stallLimit {
            ticket.count(.stalled)
            return context.close(promise: nil)
        }
        if let messageEnd, now >= messageEnd {
            ticket.count(.body)
            return context.close(promise: nil)
        }
        if let limit = wait.limit, let ending = wait.ending, now >= bodyEnd ?? waitsSince + limit {
            ticket.count(ending)
            return context.close(promise: nil)
        }
        schedule()
    }
}
