import NIOCore
import NIOHTTP1
import NIOTLS

/// Follows a connection's requests and tells the guard what to wait for, and the gate what the connection is doing. Holds requests back
/// that come faster than one address may ask: a refusal would cost as much as a page.
///
/// Stands behind the HTTP decoder, and goes with it when the connection becomes a WebSocket.
final class RequestWatch: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// Bytes of a body that are read at all. A body beyond its route's own limit is answered with 413 and read to its end, so that the
    /// client sees the answer; this is where patience ends.
    static let maxBodyBytes = 4 << 20

    private let ticket: ConnectionGate.Ticket
    private let connection: ConnectionGuard
    /// Asks for the next request's turn: how long it has to wait.
    private let turn: () -> Duration
    /// What came behind a request that waits for its turn: at most what one read brought, since no more is read meanwhile.
    private var held = CircularBuffer<HTTPServerRequestPart>()
    private var isHolding = false
    private var wantsRead = false
    private var isRemoved = false
    /// Requests whose answer is not complete.
    private var unanswered = 0
    private var isReading = false
    private var bodyBytes = 0

    init(_ ticket: ConnectionGate.Ticket, _ connection: ConnectionGuard, turn: @escaping () -> Duration = { .zero }) {
        self.ticket = ticket
        self.connection = connection
        self.turn = turn
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        isRemoved = true
        held.removeAll()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted? = event as? TLSUserEvent { connection.expect(.head) }
        context.fireUserInboundEventTriggered(event)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let part = unwrapInboundIn(data)
        guard !isHolding else { return held.append(part) }
        if case .head = part, hold(context) { return held.append(part) }
        pass(context, part)
    }

    func read(context: ChannelHandlerContext) {
        if isHolding { wantsRead = true } else { context.read() }
    }

    /// Whether the request whose head has come must wait.
    private func hold(_ context: ChannelHandlerContext) -> Bool {
        let wait = turn()
        guard wait > .zero else { return false }
        isHolding = true
        context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(wait)) { self.release(context) }
        return true
    }

    private func release(_ context: ChannelHandlerContext) {
        isHolding = false
        // The connection may have ended, or become something else.
        guard !isRemoved, context.channel.isActive else { return }
        var isFirst = true
        while let part = held.first {
            if case .head = part, !isFirst, hold(context) { break }
            isFirst = false
            held.removeFirst()
            pass(context, part)
        }
        context.fireChannelReadComplete()
        if !isHolding, wantsRead {
            wantsRead = false
            context.read()
        }
    }

    private func pass(_ context: ChannelHandlerContext, _ part: HTTPServerRequestPart) {
        switch part {
        case .head:
            unanswered += 1
            isReading = true
            bodyBytes = 0
            ticket.become(.busy)
            connection.expect(.body)
        case .body(let bytes):
            bodyBytes += bytes.readableBytes
            guard bodyBytes <= RequestWatch.maxBodyBytes else {
                ticket.count(.bodySize)
                return context.close(promise: nil)
            }
        case .end:
            isReading = false
            connection.expect(unanswered > 0 ? .nothing : .idle)
            if unanswered == 0 { ticket.become(.idle) }
        }
        context.fireChannelRead(wrapInboundOut(part))
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .end = unwrapOutboundIn(data) {
            unanswered -= 1
            // An answer may come before the end of its request: then that is still waited for.
            if unanswered == 0, !isReading {
                ticket.become(.idle)
                connection.expect(.idle)
            }
        }
        context.write(data, promise: promise)
    }
}
