import NIOCore
import NIOEmbedded
import NIOHTTP1
import NIOTLS
import Testing

@testable import Gateway

/// Takes every write and completes none, as a socket does whose reader has stopped.
private final class Dam: ChannelOutboundHandler {
    typealias OutboundIn = NIOAny
    var held: [EventLoopPromise<Void>] = []

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if let promise { held.append(promise) }
    }
}

@Suite struct ConnectionGuardTests {
    private let gate = ConnectionGate(connections: 10, perAddress: 10)
    private let channel = EmbeddedChannel()
    private let dam = Dam()

    /// A connection behind a guard that waits for `wait`.
    private func guarded(_ wait: ConnectionGuard.Wait, isDammed: Bool = false) throws -> (ConnectionGuard, RequestWatch) {
        let ticket = try gate.open(nil) {}.get()
        let connection = ConnectionGuard(ticket, wait: wait)
        let watch = RequestWatch(ticket, connection)
        var handlers: [any ChannelHandler] = isDammed ? [dam] : []
        handlers += [connection, watch]
        try channel.pipeline.syncOperations.addHandlers(handlers)
        try channel.connect(to: NIOCore.SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        return (connection, watch)
    }

    private func pass(_ seconds: Int64) { channel.embeddedEventLoop.advanceTime(by: .seconds(seconds)) }

    private var head: HTTPServerRequestPart { .head(HTTPRequestHead(version: .http1_1, method: .PUT, uri: "/")) }
    private var answer: HTTPServerResponsePart { .head(HTTPResponseHead(version: .http1_1, status: .ok)) }

    private func ended(_ reason: String) -> Bool { gate.lines.contains { $0.labels.first?.1 == reason && $0.value == 1 } }

    @Test func `ten seconds for a head`() throws {
        _ = try guarded(.head)
        pass(9)
        #expect(channel.isActive)
        pass(1)
        #expect(!channel.isActive && ended("head"))
    }

    @Test func `ten seconds for TLS, and ten more for a head`() throws {
        _ = try guarded(.tls)
        pass(9)
        channel.pipeline.fireUserInboundEventTriggered(TLSUserEvent.handshakeCompleted(negotiatedProtocol: nil))
        pass(9)
        #expect(channel.isActive)
        pass(1)
        #expect(!channel.isActive && ended("head"))
    }

    @Test func `thirty seconds for a body, however it drips`() throws {
        _ = try guarded(.head)
        try channel.writeInbound(head)
        for _ in 0..<29 {
            pass(1)
            try channel.writeInbound(HTTPServerRequestPart.body(ByteBuffer(string: "x")))
        }
        #expect(channel.isActive)
        pass(1)
        #expect(!channel.isActive && ended("body"))
    }

    @Test func `a body without end is cut off`() throws {
        _ = try guarded(.head)
        try channel.writeInbound(head)
        for _ in 0..<4 { try channel.writeInbound(HTTPServerRequestPart.body(ByteBuffer(repeating: 0, count: 1 << 20))) }
        #expect(channel.isActive)
        try channel.writeInbound(HTTPServerRequestPart.body(ByteBuffer(string: "x")))
        #expect(!channel.isActive && ended("body_size"))
    }

    @Test func `an answer may take its time, and thirty seconds later the connection is idle too long`() throws {
        _ = try guarded(.head)
        try channel.writeInbound(head)
        try channel.writeInbound(HTTPServerRequestPart.end(nil))
        pass(600)
        #expect(channel.isActive)
        try channel.writeOutbound(answer)
        try channel.writeOutbound(HTTPServerResponsePart.end(nil))
        pass(29)
        #expect(channel.isActive)
        pass(1)
        #expect(!channel.isActive && ended("idle"))
    }

    @Test func `the first byte of the next request begins ten seconds again`() throws {
        let connection = ConnectionGuard(try gate.open(nil) {}.get(), wait: .idle)
        try channel.pipeline.syncOperations.addHandler(connection)
        try channel.connect(to: NIOCore.SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        pass(20)
        try channel.writeInbound(ByteBuffer(string: "G"))
        pass(9)
        try channel.writeInbound(ByteBuffer(string: "E"))
        #expect(channel.isActive)
        pass(1)
        #expect(!channel.isActive && ended("head"))
    }

    @Test func `a reader that takes nothing for thirty seconds is cut off, one that takes a little is not`() throws {
        _ = try guarded(.nothing, isDammed: true)
        for _ in 0..<3 { channel.writeAndFlush(HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(string: "x"))), promise: nil) }
        pass(20)
        dam.held.removeFirst().succeed()
        pass(29)
        #expect(channel.isActive)
        pass(1)
        #expect(!channel.isActive && ended("stalled"))
        for promise in dam.held { promise.succeed() }
    }
}
