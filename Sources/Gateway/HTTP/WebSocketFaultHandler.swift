import NIOCore
import NIOWebSocket

/// Ends a WebSocket whose client sent what cannot be read on: a frame or message beyond the limit, or more than a
/// stranger may (1009, behind the door's own words), or a breach of the protocol (1002).
///
/// Stands behind the aggregator, whose faults NIO's own handler, in front of it, would never see.
final class WebSocketFaultHandler: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias InboundOut = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    /// How long the client may take to hear of it. What it is still sending is dropped meanwhile: a socket closed with
    /// unread bytes resets the connection, and the farewell with it.
    private static let patience = TimeAmount.seconds(1)

    private let farewell: () -> String?
    private var isOver = false

    /// - Parameter farewell: asked once, for messages that are too large; what it says goes into a text frame before
    ///   the close frame.
    init(farewell: @escaping () -> String?) { self.farewell = farewell }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if isOver {
            if case .connectionClose = unwrapInboundIn(data).opcode { context.close(promise: nil) }
        } else {
            context.fireChannelRead(data)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let code = WebSocketFaultHandler.closeCode(for: error) else { return context.fireErrorCaught(error) }
        if isOver { return }
        isOver = true
        if code == .messageTooLarge, let farewell = farewell() {
            let words = WebSocketFrame(fin: true, opcode: .text, data: ByteBuffer(string: farewell))
            context.write(wrapOutboundOut(words), promise: nil)
        }
        var reason = ByteBuffer()
        reason.write(webSocketErrorCode: code)
        context.writeAndFlush(
            wrapOutboundOut(WebSocketFrame(fin: true, opcode: .connectionClose, data: reason)), promise: nil)
        let channel = context.channel
        context.eventLoop.assumeIsolated().scheduleTask(in: WebSocketFaultHandler.patience) {
            channel.close(promise: nil)
        }
    }

    /// nil: not a fault of the client's frames.
    private static func closeCode(for error: any Error) -> WebSocketErrorCode? {
        switch error {
        case NIOWebSocketError.invalidFrameLength, NIOWebSocketFrameAggregator.Error.accumulatedFrameSizeIsTooLarge,
            NIOWebSocketFrameAggregator.Error.tooManyFragments, is ConnectionGuard.AllowanceSpent:
            .messageTooLarge
        case is NIOWebSocketError, is NIOWebSocketFrameAggregator.Error: .protocolError
        // What still comes behind the frame that could not be read.
        case ByteToMessageDecoderError.dataReceivedInErrorState(let first, _): closeCode(for: first)
        default: nil
        }
    }
}
