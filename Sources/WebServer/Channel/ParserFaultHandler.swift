import NIOCore
import NIOHTTP1

/// Answers what is no HTTP with 400, and closes. Without it whoever speaks TLS to a port without it, or anything else,
/// would wait until the time for a request's head is over, and hold a connection for as long.
final class ParserFaultHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private static let words =
        #"{"error":{"code":"bad_request","message":"this is no HTTP request: this port speaks HTTP without TLS"}}"#

    /// Whether a part of an answer has gone out, which nothing may follow but the rest of it.
    private var isAnswering = false

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head: isAnswering = true
        case .body: break
        case .end: isAnswering = false
        }
        context.write(data, promise: promise)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard error is HTTPParserError else { return context.fireErrorCaught(error) }
        guard !isAnswering else { return context.close(promise: nil) }
        let body = ByteBuffer(string: Self.words)
        let headers: HTTPHeaders = [
            "Content-Type": "application/json", "Content-Length": "\(body.readableBytes)", "Connection": "close",
        ]
        let head = HTTPResponseHead(version: .http1_1, status: .badRequest, headers: headers)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
        let channel = context.channel
        context.writeAndFlush(wrapOutboundOut(.end(nil))).whenComplete { _ in channel.close(promise: nil) }
    }
}
