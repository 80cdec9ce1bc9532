package import Admission
import Basics
import FoundationEssentials
package import NIOCore
import NIOHTTP1
package import NIOWebSocket
package import WebServer

/// The bytes of a client at the owner of its room: another node passes them on over a WebSocket, one message for
/// what it read at once, and gets one message for each frame that the client has to read at once.
package struct NodeBytes: Sendable {
    package static let path = "/cluster/tcp"

    /// For the internal listener: the connections are served by `endpoint` where their rooms are here.
    package static func listener(_ endpoint: any ByteEndpoint, _ front: ClusterFront) -> WebSocketEndpoint {
        WebSocketEndpoint(
            pattern: .path(path), maxMessageBytes: 1 << 17,
            takeChannel: { channel, handshake, waiting in
                let client = try NodeBytes(channel, handshake, waiting: waiting)
                return { await client.serve(by: endpoint, front) }
            }, serve: { _ in })
    }

    package let channel: NIOAsyncChannel<ByteBuffer, ByteBuffer>
    package let handshake: WebSocketConnection.Handshake

    package init(
        _ channel: any Channel, _ handshake: WebSocketConnection.Handshake,
        waiting: NIOAsyncSequenceProducerBackPressureStrategies.HighLowWatermark
    ) throws {
        self.handshake = handshake
        try channel.pipeline.syncOperations.addHandler(NodeBytesMessages())
        self.channel = try NIOAsyncChannel(
            wrappingChannelSynchronously: channel, configuration: .init(backPressureStrategy: waiting))
    }

    /// The maximum segment of the client's path, in bytes.
    package var segment: Int? {
        handshake.headers.first(name: NodeHeaders.segment).flatMap { Int($0) }.flatMap {
            (64...65_535).contains($0) ? $0 : nil
        }
    }

    /// Tells the other node about the connection.
    package func tell(_ notice: SocketNotice) { channel.channel.triggerUserOutboundEvent(notice, promise: nil) }

    /// Ends the connection with a close frame.
    package func close(_ code: UInt16, _ reason: String) async {
        try? await channel.executeThenClose { _, _ in
            var payload = ByteBuffer()
            payload.writeInteger(code)
            payload.writeString(String(reason.prefix(60)))
            try? await channel.channel.triggerUserOutboundEvent(NodeBytesMessages.Close(payload: payload)).get()
        }
    }
}

extension NodeBytes {
    /// Serves the client where its room is here.
    package func serve(by endpoint: any ByteEndpoint, _ front: ClusterFront) async {
        let room = handshake.headers.first(name: NodeHeaders.room)?.percentDecoded ?? ""
        let epoch = handshake.headers.first(name: NodeHeaders.epoch).flatMap { Int64($0) }
        do throws(Refusal) {
            if case .elsewhere(let owner) = try await front.ownership(of: room, epoch: epoch) {
                return await close(OwnedSocket.notOwner, owner ?? "")
            }
            if try await !front.takes(room) { return await close(OwnedSocket.full, "") }
        } catch {
            return await close(1013, error.code.rawValue)
        }
        tell(.serving)
        await endpoint.serve(channel, from: handshake.remote, segment: segment) {
            handshake.wentInside(true)
            tell(.inside)
        }
    }
}

/// Takes the messages of a WebSocket between nodes apart into bytes, and writes each buffer as one message.
package final class NodeBytesMessages: ChannelDuplexHandler {
    package typealias InboundIn = WebSocketFrame
    package typealias InboundOut = ByteBuffer
    package typealias OutboundIn = ByteBuffer
    package typealias OutboundOut = WebSocketFrame

    struct Close: Sendable { var payload: ByteBuffer }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
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

    package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let frame = WebSocketFrame(fin: true, opcode: .binary, data: unwrapOutboundIn(data))
        context.write(wrapOutboundOut(frame), promise: promise)
    }

    package func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?)
    {
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
