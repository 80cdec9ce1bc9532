import Basics
import NIOCore
import NIOEmbedded
import NIOHTTP1
import NIOTLS
import Testing

@testable import WebServer

/// Accepts every write and completes none, like a socket whose reader has stopped.
private final class Dam: ChannelOutboundHandler {
    typealias OutboundIn = NIOAny
    var held: [EventLoopPromise<Void>] = []

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if let promise { held.append(promise) }
    }
}

/// Keeps the input of a channel with closed output open, as a socket does; an `EmbeddedChannel` would close completely.
private final class HalfOpen: ChannelOutboundHandler {
    typealias OutboundIn = NIOAny

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        if case .output = mode { promise?.succeed() } else { context.close(mode: mode, promise: promise) }
    }
}

/// Counts the reads of the socket.
private final class ReadCounter: ChannelOutboundHandler {
    typealias OutboundIn = NIOAny
    var count = 0

    func read(context: ChannelHandlerContext) {
        count += 1
        context.read()
    }
}

@Suite struct ConnectionGuardTests {
    private let gate = ConnectionGate(connections: 10, perAddress: 10)
    private let channel = EmbeddedChannel()
    private let dam = Dam()

    /// A connection behind a guard that expects `wait`.
    private func guarded(_ wait: ConnectionGuard.Wait, isDammed: Bool = false) throws -> (ConnectionGuard, RequestWatch)
    {
        let ticket = try gate.open(nil) {}.get()
        let connection = ConnectionGuard(ticket, wait: wait)
        let watch = RequestWatch(ticket, connection)
        var handlers: [any ChannelHandler] = isDammed ? [dam] : []
        handlers += [connection, HTTPResponseEncoder(), watch]
        try channel.pipeline.syncOperations.addHandlers(handlers)
        try channel.connect(to: NIOCore.SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        return (connection, watch)
    }

    private func pass(_ seconds: Int64) { channel.embeddedEventLoop.advanceTime(by: .seconds(seconds)) }

    private var head: HTTPServerRequestPart { .head(HTTPRequestHead(version: .http1_1, method: .PUT, uri: "/")) }
    private var answer: HTTPServerResponsePart {
        .head(HTTPResponseHead(version: .http1_1, status: .ok, headers: ["Content-Length": "1"]))
    }

    private func ended(_ reason: String) -> Bool {
        gate.samples.contains { $0.labels["reason"] == reason && $0.value == 1 }
    }

    @Test func `a head has ten seconds`() throws {
        _ = try guarded(.head)
        pass(9)
        #expect(channel.isActive)
        pass(1)
        #expect(!channel.isActive && ended("head"))
    }

    @Test func `TLS has ten seconds, and a head ten more`() throws {
        _ = try guarded(.tls)
        pass(9)
        channel.pipeline.fireUserInboundEventTriggered(TLSUserEvent.handshakeCompleted(negotiatedProtocol: nil))
        pass(9)
        #expect(channel.isActive)
        pass(1)
        #expect(!channel.isActive && ended("head"))
    }

    @Test func `a body has thirty seconds, however slowly it comes`() throws {
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

    /// A connection whose request may bring a large body; bytes come as from the socket.
    private func large() throws {
        let (connection, _) = try guarded(.head)
        try channel.writeInbound(head)
        connection.expect(.largeBody)
    }

    /// Passes bytes to the guard alone: behind it stands no decoder here.
    private func bring(_ bytes: Int) throws {
        try channel.pipeline.syncOperations.handler(type: ConnectionGuard.self).came(bytes)
    }

    @Test func `a large body lives while it brings its rate`() throws {
        try large()
        for _ in 0..<120 {
            pass(1)
            try bring(ConnectionGuard.largeBodyRate)
        }
        #expect(channel.isActive)
        // Ten seconds of grace, and what has come.
        pass(9)
        #expect(channel.isActive)
        pass(2)
        #expect(!channel.isActive && ended("body"))
    }

    @Test func `a large body that drips ends soon, and a small one has its thirty seconds`() throws {
        try large()
        try bring(LargeBodies.freeBytes)
        for _ in 0..<13 {
            pass(1)
            #expect(channel.isActive)
        }
        try bring(1)
        pass(2)
        #expect(!channel.isActive && ended("body"))
    }

    @Test func `two Host headers get 400, and nothing behind them is read`() throws {
        _ = try guarded(.head)
        var head = HTTPRequestHead(version: .http1_1, method: .GET, uri: "/")
        head.headers = ["Host": "localhost", "host": "evil.example"]
        try channel.writeInbound(HTTPServerRequestPart.head(head))
        try channel.writeInbound(HTTPServerRequestPart.end(nil))
        #expect(try channel.readInbound(as: HTTPServerRequestPart.self) == nil)
        var answer = ""
        while let part = try channel.readOutbound(as: ByteBuffer.self) { answer += String(buffer: part) }
        #expect(answer.hasPrefix("HTTP/1.1 400") && answer.contains("bad_request"))
        #expect(!channel.isActive && ended("head"))
    }

    @Test func `an endless body ends the connection`() throws {
        _ = try guarded(.head)
        try channel.writeInbound(head)
        for _ in 0..<4 {
            try channel.writeInbound(HTTPServerRequestPart.body(ByteBuffer(repeating: 0, count: 1 << 20)))
        }
        #expect(channel.isActive)
        try channel.writeInbound(HTTPServerRequestPart.body(ByteBuffer(string: "x")))
        #expect(!channel.isActive && ended("body_size"))
    }

    @Test func `an answer has no limit, and thirty seconds after it the idle connection ends`() throws {
        _ = try guarded(.head)
        try channel.writeInbound(head)
        try channel.writeInbound(HTTPServerRequestPart.end(nil))
        pass(600)
        #expect(channel.isActive)
        try channel.writeOutbound(answer)
        pass(600)
        #expect(channel.isActive)
        try channel.writeOutbound(HTTPServerResponsePart.end(nil))
        pass(29)
        #expect(channel.isActive)
        pass(1)
        #expect(!channel.isActive && ended("idle"))
    }

    @Test func `the first byte of the next request starts ten seconds again`() throws {
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

    @Test func `requests wait for their turn, in order, without reads meanwhile`() throws {
        let ticket = try gate.open(nil) {}.get()
        let connection = ConnectionGuard(ticket, wait: .head)
        var turns = 0
        let watch = RequestWatch(ticket, connection) { _ in
            0
        } turn: {
            turns += 1
            return turns == 1 ? .zero : .seconds(1)
        }
        let reads = ReadCounter()
        try channel.pipeline.syncOperations.addHandlers([reads, connection, HTTPResponseEncoder(), watch])
        try channel.connect(to: NIOCore.SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        for path in ["/1", "/2", "/3"] { try request(path) }
        #expect(try passed() == ["/1"])
        try reply()
        let before = reads.count
        channel.read()
        #expect(reads.count == before)
        pass(1)
        #expect(try passed() == ["/2"])
        try reply()
        #expect(reads.count == before, "the third still waits")
        pass(1)
        #expect(try passed() == ["/3"])
        #expect(reads.count == before + 1)
        _ = try? channel.finish()
    }

    private func request(_ path: String) throws {
        try channel.writeInbound(
            HTTPServerRequestPart.head(HTTPRequestHead(version: .http1_1, method: .GET, uri: path)))
        try channel.writeInbound(HTTPServerRequestPart.end(nil))
    }

    /// The paths of the requests that were passed on.
    private func passed() throws -> [String] {
        var paths: [String] = []
        while let part = try channel.readInbound(as: HTTPServerRequestPart.self) {
            if case .head(let head) = part { paths.append(head.uri) }
        }
        return paths
    }

    /// The answer to the request that was passed on last.
    private func reply(_ bytes: Int = 1) throws {
        let head = HTTPResponseHead(version: .http1_1, status: .ok, headers: ["Content-Length": "\(bytes)"])
        channel.write(HTTPServerResponsePart.head(head), promise: nil)
        channel.write(HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(repeating: 120, count: bytes))), promise: nil)
        channel.writeAndFlush(HTTPServerResponsePart.end(nil), promise: nil)
    }

    private var unsent: Double? {
        gate.samples.first { $0.name == "tessera_limited_current" && $0.labels["name"] == "unsent_bytes" }?.value
    }

    @Test func `a client that pipelines and reads nothing has one waiting answer, and is not read`() throws {
        _ = try guarded(.head, isDammed: true)
        let reads = ReadCounter()
        try channel.pipeline.syncOperations.addHandler(reads, position: .first)
        for number in 1...100 { try request("/\(number)") }
        #expect(try passed() == ["/1"])
        try reply(100_000)
        #expect(try passed().isEmpty, "the first answer is not sent yet")
        #expect((100_000...100_200).contains(unsent ?? 0))
        let before = reads.count
        channel.read()
        #expect(reads.count == before)
        for promise in dam.held { promise.succeed() }
        dam.held = []
        #expect(try passed() == ["/2"])
        #expect(unsent == 0)
        try reply(100_000)
        #expect((100_000...100_200).contains(unsent ?? 0))
        pass(30)
        #expect(!channel.isActive && ended("stalled"))
        for promise in dam.held { promise.fail(ChannelError.ioOnClosedChannel) }
    }

    @Test func `an answer that has left starts the next request, and the end of the input comes last`() throws {
        final class Ends: ChannelInboundHandler {
            typealias InboundIn = HTTPServerRequestPart
            var count = 0
            func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
                if case .inputClosed? = event as? ChannelEvent { count += 1 }
            }
        }
        _ = try guarded(.head)
        let ends = Ends()
        try channel.pipeline.syncOperations.addHandler(ends)
        for path in ["/1", "/2", "/3"] { try request(path) }
        channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        for path in ["/1", "/2", "/3"] {
            #expect(try passed() == [path])
            #expect(ends.count == (path == "/3" ? 1 : 0))
            try reply()
        }
        pass(30)
        #expect(!channel.isActive && ended("idle"))
    }

    @Test func `more requests than one read can bring end the connection`() throws {
        _ = try guarded(.head)
        for number in 0...500 { try request("/\(number)") }
        #expect(channel.isActive)
        try channel.writeInbound(head)
        #expect(!channel.isActive && ended("pipelined"))
        #expect(try passed() == ["/0"])
    }

    @Test func `requests behind the last answer take no memory`() throws {
        _ = try guarded(.head)
        try channel.pipeline.syncOperations.addHandler(HalfOpen(), position: .first)
        try request("/1")
        try request("/2")
        // The server closes its output after the answer to a request with `Connection: close`.
        try reply()
        channel.close(mode: .output, promise: nil)
        pass(29)
        #expect(channel.isActive)
        pass(1)
        #expect(!channel.isActive && ended("idle"))
    }

    @Test func `a reader that takes nothing for thirty seconds is closed, one that takes a little is not`() throws {
        _ = try guarded(.nothing, isDammed: true)
        for _ in 0..<3 {
            channel.writeAndFlush(HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(string: "x"))), promise: nil)
        }
        pass(20)
        dam.held.removeFirst().succeed()
        pass(29)
        #expect(channel.isActive)
        pass(1)
        #expect(!channel.isActive && ended("stalled"))
        for promise in dam.held { promise.succeed() }
    }
}
