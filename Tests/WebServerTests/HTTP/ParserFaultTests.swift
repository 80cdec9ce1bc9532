import NIOCore
import NIOEmbedded
import NIOHTTP1
import Testing

@testable import WebServer

/// What is sent to a connection that is no HTTP.
@Suite struct ParserFaultTests {
    /// A connection's pipeline as far as the fault handler.
    private func connection() throws -> EmbeddedChannel {
        let channel = EmbeddedChannel()
        try channel.pipeline.syncOperations.addHandlers(
            [
                HTTPResponseEncoder(),
                ByteToMessageHandler(HTTPRequestDecoder(leftOverBytesStrategy: .forwardBytes)), ParserFaultHandler(),
            ] as [any ChannelHandler])
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 80)).wait()
        return channel
    }

    private func sent(_ channel: EmbeddedChannel) throws -> String {
        var text = ""
        while let bytes = try channel.readOutbound(as: ByteBuffer.self) { text += String(buffer: bytes) }
        return text
    }

    /// The first bytes of a ClientHello (RFC 8446 §4.1.2), a line of SSH, and random bytes.
    @Test(arguments: [[0x16, 3, 1, 0, 200, 1, 0, 0], Array("SSH-2.0-x\r\n".utf8), [0, 255, 0, 13, 10]] as [[UInt8]])
    func `what is no HTTP is answered at once and ends`(bytes: [UInt8]) throws {
        let channel = try connection()
        _ = try? channel.writeInbound(ByteBuffer(bytes: bytes))
        channel.embeddedEventLoop.run()
        let text = try sent(channel)
        #expect(
            text.hasPrefix("HTTP/1.1 400 Bad Request\r\n") && text.hasSuffix(#"speaks HTTP without TLS"}}"#), "\(text)")
        #expect(!channel.isActive)
    }

    @Test func `rubbish behind a request that is being answered ends the connection without a second answer`() throws {
        let channel = try connection()
        try channel.writeInbound(ByteBuffer(string: "GET / HTTP/1.1\r\nHost: h\r\n\r\n"))
        let head = HTTPResponseHead(version: .http1_1, status: .ok, headers: ["Content-Length": "10"])
        try channel.writeOutbound(HTTPServerResponsePart.head(head))
        _ = try? channel.writeInbound(ByteBuffer(bytes: [0x16, 3, 1, 0]))
        channel.embeddedEventLoop.run()
        let text = try sent(channel)
        #expect(text.hasPrefix("HTTP/1.1 200 OK\r\n") && !text.contains("400") && !channel.isActive, "\(text)")
    }
}
