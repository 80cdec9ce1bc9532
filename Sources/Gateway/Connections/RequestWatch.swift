import NIOCore
import NIOHTTP1
import NIOTLS

/// Follows a connection's requests and tells the guard what to wait for, and the gate what the connection is doing.
///
/// Lets one request in at a time: the next one follows when the answer to the one before has left, every byte of it. A
/// client that sends requests and reads no answers so has one answer in our memory, however many it asks for (RFC 9112
/// §9.3.2 lets a client send ahead). Holds requests back too that come faster than one address may ask: a refusal would
/// cost as much as a page.
///
/// Stands behind the HTTP decoder, and goes with it when the connection becomes a WebSocket.
final class RequestWatch: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// Bytes of a body that are read at all. A body beyond its route's own limit is answered with 413 and read to its
    /// end, so that the client sees the answer; this is where patience ends.
    static let maxBodyBytes = 4 << 20

    /// Parts of requests that wait: a head and an end each, some 150 bytes. One read brings fewer
    /// (`GatewayChannel.readBytes`); only at the end of its input NIO reads whatever a client has sent, all at once.
    static let maxHeldParts = 1000

    private let ticket: ConnectionGate.Ticket
    private let connection: ConnectionGuard
    /// Asks for the next request's turn: how long it has to wait.
    private let turn: () -> Duration
    /// What came behind a request that waits for its turn or is being answered. No more is read meanwhile.
    private var held = CircularBuffer<HTTPServerRequestPart>()
    /// The first of them waits for its turn, or its turn has come.
    private var turnState = Turn.none
    private var wantsRead = false
    /// The client has ended its side, behind what waits.
    private var isInputClosed = false
    /// Nothing more is passed on: the connection has become something else, or is ending.
    private var isOver = false
    private var isRemoved = false
    /// The answer to the last request has not left.
    private var isAnswering = false
    /// The answer is written, and has not left.
    private var isSending = false
    /// The end of the last request has not come.
    private var isReading = false
    private var bodyBytes = 0

    private enum Turn { case none, waiting, come }

    init(_ ticket: ConnectionGate.Ticket, _ connection: ConnectionGuard, turn: @escaping () -> Duration = { .zero }) {
        self.ticket = ticket
        self.connection = connection
        self.turn = turn
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        isRemoved = true
        dropAll()
    }

    private func dropAll() {
        isOver = true
        held.removeAll()
    }

    // MARK: In

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted? = event as? TLSUserEvent { connection.expect(.head) }
        if case .inputClosed? = event as? ChannelEvent, !held.isEmpty {
            isInputClosed = true
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if isOver { return }
        let part = unwrapInboundIn(data)
        if held.isEmpty, mayPass(part, context) { return pass(context, part) }
        held.append(part)
        guard held.count <= RequestWatch.maxHeldParts else {
            dropAll()
            ticket.count(.pipelined)
            return context.close(promise: nil)
        }
    }

    func read(context: ChannelHandlerContext) {
        if held.isEmpty { context.read() } else { wantsRead = true }
    }

    private func mayPass(_ part: HTTPServerRequestPart, _ context: ChannelHandlerContext) -> Bool {
        guard case .head = part else { return true }
        if isAnswering || isReading { return false }
        switch turnState {
        case .waiting: return false
        case .come: turnState = .none
        case .none:
            let wait = turn()
            guard wait > .zero else { return true }
            turnState = .waiting
            context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(wait)) {
                self.turnState = .come
                self.goOn(context)
            }
            return false
        }
        return true
    }

    /// Passes on what may be passed now of what waits.
    private func goOn(_ context: ChannelHandlerContext) {
        guard !isOver, context.channel.isActive, !held.isEmpty else { return }
        var hasPassed = false
        while let part = held.first, mayPass(part, context) {
            held.removeFirst()
            hasPassed = true
            pass(context, part)
        }
        if hasPassed { context.fireChannelReadComplete() }
        guard held.isEmpty else { return }
        if isInputClosed {
            isInputClosed = false
            context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        }
        if wantsRead {
            wantsRead = false
            context.read()
        }
    }

    private func pass(_ context: ChannelHandlerContext, _ part: HTTPServerRequestPart) {
        switch part {
        case .head:
            isAnswering = true
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
            if isAnswering { connection.expect(.nothing) } else { becomeIdle() }
        }
        context.fireChannelRead(wrapInboundOut(part))
    }

    private func becomeIdle() {
        ticket.become(.idle)
        connection.expect(.idle)
    }

    // MARK: Out

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard case .end = unwrapOutboundIn(data) else { return context.write(data, promise: promise) }
        let left = promise ?? context.eventLoop.makePromise(of: Void.self)
        isSending = true
        left.futureResult.assumeIsolated().whenComplete { _ in self.answered(context) }
        context.write(data, promise: left)
    }

    private func answered(_ context: ChannelHandlerContext) {
        (isAnswering, isSending) = (false, false)
        guard !isRemoved else { return }
        // An answer may come before the end of its request: then that is still waited for.
        if !isReading { becomeIdle() }
        goOn(context)
    }

    /// No more answers: whatever else the client asks, it is only waited for its end.
    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        if case .output = mode {
            dropAll()
            if !isSending { becomeIdle() }
            if wantsRead { context.read() }
        }
        context.close(mode: mode, promise: promise)
    }
}
