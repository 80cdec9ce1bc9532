package import NIOCore
package import NIOWebSocket

/// Ends a WebSocket whose client sent a frame or message above the limit, or more than allowed before a join (1009,
/// after the endpoint's own text frame), or violated the protocol (1002).
///
/// Its place is behind the aggregator, whose errors NIO's own handler, in front of it, would never see.
package final class WebSocketFaultHandler: ChannelInboundHandler {
    package typealias InboundIn = WebSocketFrame
    package typealias InboundOut = WebSocketFrame
    package typealias OutboundOut = WebSocketFrame

    /// The time in which the client can receive the close frame. Its further bytes are read and dropped meanwhile:
    /// closing a socket with unread bytes resets the connection, and the close frame is lost.
    private static let closeTimeout = TimeAmount.seconds(1)

    private let messageEnded: () -> Void
    private let errorText: () -> String?
    private var isOver = false

    /// - Parameters:
    ///   - messageEnded: called for each whole message.
    ///   - errorText: called once, for messages that are too large; its result is sent in a text frame before the close
    ///     frame.
    package init(messageEnded: @escaping () -> Void = {}, errorText: @escaping () -> String?) {
        self.messageEnded = messageEnded
        self.errorText = errorText
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if isOver {
            if case .connectionClose = unwrapInboundIn(data).opcode { context.close(promise: nil) }
        } else {
            messageEnded()
            context.fireChannelRead(data)
        }
    }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let code = WebSocketFaultHandler.closeCode(for: error) else { return context.fireErrorCaught(error) }
        if isOver { return }
        isOver = true
        if code == .messageTooLarge, let errorText = errorText() {
            let words = WebSocketFrame(fin: true, opcode: .text, data: ByteBuffer(string: errorText))
            context.write(wrapOutboundOut(words), promise: nil)
        }
        var reason = ByteBuffer()
        reason.write(webSocketErrorCode: code)
        context.writeAndFlush(
            wrapOutboundOut(WebSocketFrame(fin: true, opcode: .connectionClose, data: reason)), promise: nil)
        let channel = context.channel
        context.eventLoop.assumeIsolated().scheduleTask(in: WebSocketFaultHandler.closeTimeout) {
            channel.close(promise: nil)
        }
    }

    /// nil: the error is no fault of the client's frames.
    private static func closeCode(for error: any Error) -> WebSocketErrorCode? {
        switch error {
        case NIOWebSocketError.invalidFrameLength, NIOWebSocketFrameAggregator.Error.accumulatedFrameSizeIsTooLarge,
            NIOWebSocketFrameAggregator.Error.tooManyFragments, MessageDeflate.Fault.tooLarge,
            is ConnectionGuard.AllowanceSpent:
            .messageTooLarge
        case is NIOWebSocketError, is NIOWebSocketFrameAggregator.Error, is FrameCheck.Fault,
            is MessageDeflate.Fault:
            .protocolError
        // Bytes behind the frame that could not be read.
        case ByteToMessageDecoderError.dataReceivedInErrorState(let first, _): closeCode(for: first)
        default: nil
        }
    }
}
