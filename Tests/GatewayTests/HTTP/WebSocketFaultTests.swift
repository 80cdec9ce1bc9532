import NIOCore
import NIOEmbedded
import NIOWebSocket
import Testing

@testable import Gateway

@Suite struct WebSocketFaultTests {
    private func channel(limit: Int = 100) throws -> EmbeddedChannel {
        let channel = EmbeddedChannel()
        try channel.pipeline.syncOperations.addHandlers([
            NIOWebSocketFrameAggregator(minNonFinalFragmentSize: 0, maxAccumulatedFrameCount: 10, maxAccumulatedFrameSize: limit),
            WebSocketFaultHandler(farewell: "too large"),
        ])
        try channel.connect(to: NIOCore.SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        return channel
    }

    private func fragment(_ size: Int, isFirst: Bool) -> WebSocketFrame {
        WebSocketFrame(fin: false, opcode: isFirst ? .text : .continuation, data: ByteBuffer(repeating: 120, count: size))
    }

    private func closeCode(_ frame: WebSocketFrame?) -> UInt16? {
        guard let frame, frame.opcode == .connectionClose else { return nil }
        return frame.data.getInteger(at: frame.data.readerIndex, as: UInt16.self)
    }

    @Test func `a message whose fragments grow too large is told so and ends with 1009`() throws {
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

    @Test func `a frame that announces too much is told so too, once`() throws {
        let channel = try channel()
        channel.pipeline.fireErrorCaught(NIOWebSocketError.invalidFrameLength)
        channel.pipeline.fireErrorCaught(
            ByteToMessageDecoderError.dataReceivedInErrorState(NIOWebSocketError.invalidFrameLength, ByteBuffer()))
        #expect(try channel.readOutbound(as: WebSocketFrame.self)?.opcode == .text)
        #expect(closeCode(try channel.readOutbound(as: WebSocketFrame.self)) == 1009)
        #expect(try channel.readOutbound(as: WebSocketFrame.self) == nil)
        _ = try? channel.finish()
    }

    @Test func `a breach of the protocol ends with 1002 and no words`() throws {
        let channel = try channel()
        try channel.writeInbound(fragment(10, isFirst: false))
        #expect(closeCode(try channel.readOutbound(as: WebSocketFrame.self)) == 1002)
        try channel.writeInbound(WebSocketFrame(fin: true, opcode: .connectionClose, data: ByteBuffer()))
        #expect(!channel.isActive, "the client's own close ends the wait")
    }

    @Test func `messages within the limit pass`() throws {
        let channel = try channel()
        try channel.writeInbound(WebSocketFrame(fin: true, opcode: .text, data: ByteBuffer(string: "fine")))
        #expect(try channel.readInbound(as: WebSocketFrame.self) != nil)
        #expect(try channel.readOutbound(as: WebSocketFrame.self) == nil)
        _ = try? channel.finish()
    }
}
