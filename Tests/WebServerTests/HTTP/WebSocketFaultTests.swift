import Basics
import NIOCore
import NIOEmbedded
import NIOWebSocket
import Testing

@testable import WebServer

@Suite struct WebSocketFaultTests {
    private func channel(limit: Int = 100) throws -> EmbeddedChannel {
        let channel = EmbeddedChannel()
        try channel.pipeline.syncOperations.addHandlers([
            NIOWebSocketFrameAggregator(
                minNonFinalFragmentSize: 0, maxAccumulatedFrameCount: 10, maxAccumulatedFrameSize: limit),
            WebSocketFaultHandler { "too large" },
        ])
        try channel.connect(to: NIOCore.SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        return channel
    }

    private func fragment(_ size: Int, isFirst: Bool) -> WebSocketFrame {
        WebSocketFrame(
            fin: false, opcode: isFirst ? .text : .continuation, data: ByteBuffer(repeating: 120, count: size))
    }

    private func closeCode(_ frame: WebSocketFrame?) -> UInt16? {
        guard let frame, frame.opcode == .connectionClose else { return nil }
        return frame.data.getInteger(at: frame.data.readerIndex, as: UInt16.self)
    }

    @Test func `a message with too large fragments gets an error and ends with 1009`() throws {
        let channel = try channel()
        try channel.writeInbound(fragment(60, isFirst: true))
        try channel.writeInbound(fragment(60, isFirst: false))
        let words = try #require(try channel.readOutbound(as: WebSocketFrame.self))
        #expect(words.opcode == .text && String(buffer: words.data) == "too large")
        #expect(closeCode(try channel.readOutbound(as: WebSocketFrame.self)) == 1009)
        #expect(channel.isActive, "a socket that is closed at once would take the farewell with it")
        try channel.writeInbound(WebSocketFrame(fin: true, opcode: .text, data: ByteBuffer(string: "more")))
        #expect(try channel.readInbound(as: WebSocketFrame.self) == nil, "nothing is read any more")
        channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(!channel.isActive)
    }

    @Test func `a frame that announces too many bytes gets one error too`() throws {
        let channel = try channel()
        channel.pipeline.fireErrorCaught(NIOWebSocketError.invalidFrameLength)
        channel.pipeline.fireErrorCaught(
            ByteToMessageDecoderError.dataReceivedInErrorState(NIOWebSocketError.invalidFrameLength, ByteBuffer()))
        #expect(try channel.readOutbound(as: WebSocketFrame.self)?.opcode == .text)
        #expect(closeCode(try channel.readOutbound(as: WebSocketFrame.self)) == 1009)
        #expect(try channel.readOutbound(as: WebSocketFrame.self) == nil)
        _ = try? channel.finish()
    }

    @Test func `a violation of the protocol ends with 1002 and no text`() throws {
        let channel = try channel()
        try channel.writeInbound(fragment(10, isFirst: false))
        #expect(closeCode(try channel.readOutbound(as: WebSocketFrame.self)) == 1002)
        try channel.writeInbound(WebSocketFrame(fin: true, opcode: .connectionClose, data: ByteBuffer()))
        #expect(!channel.isActive, "the client's own close ends the wait")
    }

    /// Counts the bytes that pass the guard.
    private final class Meter: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        var bytes = 0

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            bytes += unwrapInboundIn(data).readableBytes
            context.fireChannelRead(data)
        }
    }

    /// The handlers of a WebSocket, with the guard's allowance before a join.
    private func stranger(_ meter: Meter) throws -> (EmbeddedChannel, ConnectionGuard) {
        let channel = EmbeddedChannel()
        let connection = ConnectionGuard(
            try ConnectionGate(connections: 1, perAddress: 1).open(nil) {}.get(), wait: .nothing)
        connection.allow(bytes: ConnectionGuard.outsideBytes)
        try channel.pipeline.syncOperations.addHandlers([
            connection, meter, WebSocketFrameEncoder(),
            ByteToMessageHandler(WebSocketFrameDecoder(maxFrameSize: 262_144)),
            FrameCheck(mayBeCompressed: false),
            NIOWebSocketFrameAggregator(
                minNonFinalFragmentSize: 0, maxAccumulatedFrameCount: 1024, maxAccumulatedFrameSize: 262_144),
            WebSocketFaultHandler { connection.isUnlimited ? "inside" : "outside" },
        ])
        try channel.connect(to: NIOCore.SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        return (channel, connection)
    }

    /// Masked text in frames of these sizes, each with a length of eight bytes (RFC 6455 §5.2); the last frame is the
    /// final one.
    private func frames(_ sizes: [Int]) -> [UInt8] {
        sizes.enumerated().flatMap { index, size -> [UInt8] in
            let first: UInt8 = (index == 0 ? 0x01 : 0x00) | (index == sizes.count - 1 ? 0x80 : 0x00)
            let length = (0..<8).map { UInt8(truncatingIfNeeded: size >> (56 - 8 * $0)) }
            return [first, 0xFF] + length + [0, 0, 0, 0] + [UInt8](repeating: 120, count: size)
        }
    }

    private func send(_ bytes: [UInt8], to channel: EmbeddedChannel) throws {
        for start in stride(from: 0, to: bytes.count, by: 4096) {
            try channel.writeInbound(ByteBuffer(bytes: bytes[start..<min(start + 4096, bytes.count)]))
        }
    }

    private func sent(_ channel: EmbeddedChannel) throws -> [UInt8] {
        var bytes: [UInt8] = []
        while let buffer = try channel.readOutbound(as: ByteBuffer.self) { bytes += Array(buffer.readableBytesView) }
        return bytes
    }

    @Test(arguments: [[200_000], [60_000, 60_000, 60_000], [600_000], [131_072]])
    func `a client that sends too much before a join gets an error and 1009, and the rest is dropped`(sizes: [Int])
        throws
    {
        let meter = Meter()
        let (channel, _) = try stranger(meter)
        try send(frames(sizes), to: channel)
        #expect(
            try sent(channel) == [0x81, 7] + Array("outside".utf8) + [0x88, 2, 0x03, 0xF1], "once, and 1009 is 0x03F1")
        #expect(meter.bytes <= ConnectionGuard.outsideBytes)
        #expect(channel.isActive, "what still comes is read and dropped, or a reset would take the farewell")
        #expect(try channel.readInbound(as: WebSocketFrame.self) == nil)
        channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(!channel.isActive)
    }

    @Test func `a client in a room may send more, and gets another error`() throws {
        let meter = Meter()
        let (channel, connection) = try stranger(meter)
        try send(frames([100_000]), to: channel)
        connection.allow(bytes: nil)
        try send(frames([200_000]), to: channel)
        let sizes = try (0..<2).map { _ in try channel.readInbound(as: WebSocketFrame.self)?.data.readableBytes }
        #expect(sizes == [100_000, 200_000])
        #expect(try sent(channel).isEmpty)
        try send(frames([600_000]), to: channel)
        #expect(try sent(channel) == [0x81, 6] + Array("inside".utf8) + [0x88, 2, 0x03, 0xF1])
        _ = try? channel.finish()
    }

    @Test func `a message of several masked frames is whole, and frames without a mask end with 1002`() throws {
        let (channel, connection) = try stranger(Meter())
        connection.allow(bytes: nil)
        try send(frames([65_536, 65_536, 10]), to: channel)
        let message = try #require(try channel.readInbound(as: WebSocketFrame.self))
        #expect(message.fin && message.unmaskedData == ByteBuffer(repeating: 120, count: 131_082))
        for first: UInt8 in [0x81, 0x01] {
            let (channel, _) = try stranger(Meter())
            try send([first, 2, 120, 120], to: channel)
            #expect(try sent(channel) == [0x88, 2, 0x03, 0xEA], "1002 is 0x03EA")
            #expect(try channel.readInbound(as: WebSocketFrame.self) == nil)
            _ = try? channel.finish()
        }
    }

    @Test func `messages within the limit pass`() throws {
        let channel = try channel()
        try channel.writeInbound(WebSocketFrame(fin: true, opcode: .text, data: ByteBuffer(string: "fine")))
        #expect(try channel.readInbound(as: WebSocketFrame.self) != nil)
        #expect(try channel.readOutbound(as: WebSocketFrame.self) == nil)
        _ = try? channel.finish()
    }

    @Test func `a large message needs a place, which its end gives back`() throws {
        let bodies = LargeBodies()
        let (channel, connection) = try stranger(Meter())
        connection.allow(bytes: nil)
        connection.limitMessages { bodies.take(.v4(1)) }
        var others = (0..<LargeBodies.perAddress - 1).compactMap { _ in bodies.take(.v4(1)) }
        // The handlers of this test know no end of a message, as for a client that never ends its first.
        try send(frames([200_000]), to: channel)
        #expect(channel.isActive && bodies.take(.v4(1)) != nil, "a message of 200 KB needs no place")
        try send(frames([200_000]), to: channel)
        #expect(channel.isActive && bodies.take(.v4(1)) == nil)
        connection.messageEnded()
        others += [bodies.take(.v4(1))].compactMap { $0 }
        #expect(others.count == LargeBodies.perAddress)
        try send(frames([200_000, 200_000]), to: channel)
        #expect(String(decoding: try sent(channel), as: UTF8.self).contains("inside"))
    }
}
