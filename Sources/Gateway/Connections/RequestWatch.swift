import NIOCore
import NIOHTTP1
import NIOTLS

/// Follows a connection's requests and tells the guard what to wait for, and the gate what the connection is doing.
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
    /// Requests whose answer is not complete.
    private var unanswered = 0
    private var isReading = false
    private var bodyBytes = 0

    init(_ ticket: ConnectionGate.Ticket, _ connection: ConnectionGuard) {
        self.ticket = ticket
        self.connection = connection
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted? = event as? TLSUserEvent { connection.expect(.head) }
        context.fireUserInboundEventTriggered(event)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
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
        context.fireChannelRead(data)
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
