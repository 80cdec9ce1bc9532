import NIOCore
import NIOHTTP1
import NIOTLS

/// Follows a connection's requests, and sets the client's next step in the guard and the connection's phase in the
/// gate.
///
/// The handler passes on one request at a time: the next one follows when every byte of the previous answer has left.
/// So a client that pipelines requests (RFC 9112 §9.3.2) and reads no answers has only one answer in memory. Requests
/// beyond the rate of an address are also held back: refusing them would cost as much as a page.
///
/// Its place is behind the HTTP decoder, and both are removed when the connection becomes a WebSocket.
final class RequestWatch: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// The most bytes of a body that are read beyond the limit of its route. Such a body is answered with 413 and read
    /// to its end, so that the client sees the answer; a body beyond this ends the connection.
    static let maxExcessBytes = 4 << 20

    /// The most waiting parts of requests: a head and an end each, some 150 bytes. One read brings fewer
    /// (`WebChannel.readBytes`); only at the end of the input NIO reads all that a client has sent at once.
    static let maxHeldParts = 1000

    private let ticket: ConnectionGate.Ticket
    private let connection: ConnectionGuard
    /// Returns how long the next request has to wait for its turn.
    private let turn: () -> Duration
    private let bodyLimit: (HTTPRequestHead) -> Int
    /// The parts behind a request that waits for its turn or is being answered. The handler reads no more meanwhile.
    private var held = CircularBuffer<HTTPServerRequestPart>()
    /// Whether the first of them waits for its turn, or its turn has come.
    private var turnState = Turn.none
    private var wantsRead = false
    /// The client has closed its side, behind the held parts.
    private var isInputClosed = false
    /// No part is passed on any more: the connection has become a WebSocket, or is ending.
    private var isOver = false
    private var isRemoved = false
    /// The answer to the last request has not left yet.
    private var isAnswering = false
    /// The answer has begun.
    private var hasBegun = false
    /// The answer is written, but has not left yet.
    private var isSending = false
    /// The end of the last request has not arrived yet.
    private var isReading = false
    private var bodyBytes = 0
    private var maxBodyBytes = maxExcessBytes

    private enum Turn { case none, waiting, come }

    /// - Parameters:
    ///   - bodyLimit: the bytes that a request's route takes; those that most routes take are in `maxExcessBytes`.
    ///   - turn: returns how long the next request has to wait for its turn.
    init(
        _ ticket: ConnectionGate.Ticket, _ connection: ConnectionGuard,
        bodyLimit: @escaping (HTTPRequestHead) -> Int = { _ in 0 }, turn: @escaping () -> Duration = { .zero }
    ) {
        self.ticket = ticket
        self.bodyLimit = bodyLimit
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
                self.passWaiting(context)
            }
            return false
        }
        return true
    }

    /// Passes on the held parts that may be passed now.
    private func passWaiting(_ context: ChannelHandlerContext) {
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
        case .head(let head):
            // RFC 9112 §3.2: which of them counts is not ours to guess.
            if head.headers["host"].count > 1 { return refuse(context, head.version) }
            isAnswering = true
            hasBegun = false
            isReading = true
            bodyBytes = 0
            ticket.become(.busy)
            let limit = bodyLimit(head)
            maxBodyBytes = limit + RequestWatch.maxExcessBytes
            connection.expect(limit > LargeBodies.freeBytes ? .largeBody : .body)
        case .body(let bytes):
            bodyBytes += bytes.readableBytes
            guard bodyBytes <= maxBodyBytes else {
                ticket.count(.bodySize)
                return context.close(promise: nil)
            }
        case .end:
            isReading = false
            if isAnswering {
                connection.expect(.nothing)
                ticket.become(.waiting)
            } else {
                becomeIdle()
            }
        }
        context.fireChannelRead(wrapInboundOut(part))
    }

    /// Answers a request with two `Host` headers, behind which nothing is read any more.
    private func refuse(_ context: ChannelHandlerContext, _ version: HTTPVersion) {
        dropAll()
        ticket.count(.head)
        let text = #"{"error":{"code":"bad_request","message":"the request has more than one Host header: send one"}}"#
        let headers: HTTPHeaders = [
            "Content-Type": "application/json", "Content-Length": "\(text.utf8.count)", "Connection": "close",
        ]
        let head = HTTPResponseHead(version: version, status: .badRequest, headers: headers)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: text)))), promise: nil)
        let written = context.eventLoop.makePromise(of: Void.self)
        let here = NIOLoopBound(context, eventLoop: context.eventLoop)
        written.futureResult.whenComplete { _ in here.value.close(promise: nil) }
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: written)
    }

    private func becomeIdle() {
        ticket.become(.idle)
        connection.expect(.idle)
    }

    // MARK: Out

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard case .end = unwrapOutboundIn(data) else {
            if !hasBegun, isAnswering { ticket.become(.busy) }
            hasBegun = true
            return context.write(data, promise: promise)
        }
        let left = promise ?? context.eventLoop.makePromise(of: Void.self)
        isSending = true
        left.futureResult.assumeIsolated().whenComplete { _ in self.answered(context) }
        context.write(data, promise: left)
    }

    private func answered(_ context: ChannelHandlerContext) {
        (isAnswering, isSending) = (false, false)
        guard !isRemoved else { return }
        // An answer may leave before the end of its request, which the guard then still expects.
        if !isReading { becomeIdle() }
        passWaiting(context)
    }

    /// After this there are no more answers: further requests are dropped, and the server only waits for the client's
    /// end.
    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        if case .output = mode {
            dropAll()
            if !isSending { becomeIdle() }
            if wantsRead { context.read() }
        }
        context.close(mode: mode, promise: promise)
    }
}
