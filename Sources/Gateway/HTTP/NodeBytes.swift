import Basics
import FoundationEssentials
import NIOCore
import NIOHTTP1
import NIOWebSocket

/// A raw TCP client's bytes at the owner of its room: another node passes them on over a WebSocket, one message for
/// what it read at once, and gets one message for each frame that the client has to read at once.
struct NodeBytes: Sendable {
    static let path = "/cluster/tcp"

    /// For the internal listener.
    static let endpoint = WebSocketEndpoint(
        pattern: .path(path), maxMessageBytes: 1 << 17, isRawTCP: true, serve: { _ in })

    let channel: NIOAsyncChannel<ByteBuffer, ByteBuffer>
    let handshake: WebSocketConnection.Handshake

    init(
        _ channel: any Channel, _ handshake: WebSocketConnection.Handshake,
        waiting: NIOAsyncSequenceProducerBackPressureStrategies.HighLowWatermark
    ) throws {
        self.handshake = handshake
        try channel.pipeline.syncOperations.addHandler(NodeBytesMessages())
        self.channel = try NIOAsyncChannel(
            wrappingChannelSynchronously: channel, configuration: .init(backPressureStrategy: waiting))
    }

    /// The maximum segment of the client's path, in bytes.
    var segment: Int? {
        handshake.headers.first(name: NodeHeaders.segment).flatMap { Int($0) }.flatMap {
            (64...65_535).contains($0) ? $0 : nil
        }
    }

    /// Tells the other node about the connection.
    func tell(_ notice: SocketNotice) { channel.channel.triggerUserOutboundEvent(notice, promise: nil) }

    /// Ends the connection with a close frame.
    func close(_ code: UInt16, _ reason: String) async {
        try? await channel.executeThenClose { _, _ in
            var payload = ByteBuffer()
            payload.writeInteger(code)
            payload.writeString(String(reason.prefix(60)))
            try? await channel.channel.triggerUserOutboundEvent(NodeBytesMessages.Close(payload: payload)).get()
        }
    }
}

/// Takes the messages of a WebSocket between nodes apart into bytes, and writes each buffer as one message.
final class NodeBytesMessages: ChannelDuplexHandler {
    typealias InboundIn = WebSocketFrame
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = WebSocketFrame

    struct Close: Sendable { var payload: ByteBuffer }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        switch frame.opcode {
        case .binary: context.fireChannelRead(wrapInboundOut(frame.unmaskedData))
        case .ping:
            let pong = WebSocketFrame(fin: true, opcode: .pong, data: frame.unmaskedData)
            context.writeAndFlush(wrapOutboundOut(pong), promise: nil)
        case .connectionClose: context.close(promise: nil)
        default: break
        }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let frame = WebSocketFrame(fin: true, opcode: .binary, data: unwrapOutboundIn(data))
        context.write(wrapOutboundOut(frame), promise: promise)
    }

    func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
        let frame: WebSocketFrame
        switch event {
        case let notice as SocketNotice:
            frame = WebSocketFrame(fin: true, opcode: .ping, data: ByteBuffer(string: notice.rawValue))
        case let close as Close: frame = WebSocketFrame(fin: true, opcode: .connectionClose, data: close.payload)
        default: return context.triggerUserOutboundEvent(event, promise: promise)
        }
        context.writeAndFlush(wrapOutboundOut(frame), promise: promise)
    }
}
