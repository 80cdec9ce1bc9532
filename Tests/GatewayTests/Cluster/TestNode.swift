import AsyncHTTPClient
import Basics
import Cluster
import Conference
import Foundation
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket
import ServiceLifecycle
import Threads
import WebFiles

@testable import Admission
@testable import AppEndpoints
@testable import ClusterGateway
@testable import Gateway
@testable import Management
@testable import Settings
@testable import WebServer

/// One node of a fake cluster: the endpoints on a fake conference, with both listeners on loopback.
final class TestNode: Sendable {
    static let secret = "the secret of the nodes, of 32 bytes"

    let directory: FakeDirectory
    let conference: FakeConference
    let keeper = FakeKeeper()
    let front: ClusterFront
    let endpoints: Endpoints
    let drain: NodeDrain
    let drained = Guarded<[ClusterSettings.Drain]>([])
    /// The ports of the public and of the internal listener.
    private let ports = Guarded((public: 0, internal: 0))
    private let tasks = Guarded<[Task<Void, Never>]>([])
    let rawTCPPort = Guarded(0)

    init(
        _ id: String, _ store: FakeStore, conference: FakeConference = FakeConference(),
        timing: ClusterFront.Timing = TestNode.patient, assets: [WebFile] = [.page("<html>")],
        settings change: (inout TesseraConfiguration) -> Void = { _ in }
    ) async throws {
        var settings = TesseraConfiguration()
        settings.limits.joinsPerSecondPerAddress = 1000
        settings.limits.requestsPerSecondPerAddress = 100_000
        settings.cluster.secret = Self.secret
        change(&settings)
        self.conference = conference
        directory = FakeDirectory(store, id)
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        front = try ClusterFront(
            directory, keeper: keeper, settings: settings.cluster, placementsPerSecond: 1000, timing: timing,
            logger: logger)
        drain = NodeDrain(directory) { [drained] wish in drained.withLock { $0.append(wish) } }
        endpoints = await Endpoints(
            settings, conference: conference.services, cluster: front, drain: drain,
            assets: WebAssets(assets), usesTLS: false, machineName: "machine", logger: logger)
        try await listen(logger)
    }

    /// Nodes `a` and `b` of one store.
    ///
    /// - Parameter timing: of `a`.
    static func nodes(
        timing: ClusterFront.Timing = TestNode.patient, _ change: (inout TesseraConfiguration) -> Void = { _ in }
    ) async throws -> (FakeStore, a: TestNode, b: TestNode) {
        let store = FakeStore()
        let a = try await TestNode("a", store, timing: timing, settings: change)
        let b = try await TestNode("b", store, settings: change)
        return (store, a, b)
    }

    /// For nodes that answer, however busy the machine is.
    static var patient: ClusterFront.Timing {
        var timing = ClusterFront.Timing()
        timing.refusals = .milliseconds(20)
        timing.list = .seconds(20)
        timing.socket = .seconds(20)
        timing.connect = .seconds(10)
        return timing
    }

    /// For nodes that do not.
    static var quick: ClusterFront.Timing {
        var timing = patient
        timing.answer = .milliseconds(1500)
        timing.list = .milliseconds(1000)
        timing.socket = .milliseconds(800)
        timing.connect = .milliseconds(500)
        return timing
    }

    private func listen(_ logger: Logger) async throws {
        let gate = NodeGate(tokens: front.tokens)
        let (endpoints, front) = (endpoints, front)
        let answer = AliveAnswer(node: directory.id, incarnation: directory.id + "1", standing: .sure)
        let nodes = NodeResponder(responder: endpoints.responder, front: front, gate: gate, alive: { answer }) { _, _ in
            .silent
        }
        let inside = channel(endpoints.nodeEndpoints, gate)
        let outside = channel(endpoints.webSocketEndpoints, nil)
        let innerPort = try await start(nodes, logger, inside)
        let outerPort = try await start(endpoints.responder, logger, outside)
        ports.withLock { $0 = (outerPort, innerPort) }
        if let door = endpoints.rawTCP {
            let relay = ByteRelay(endpoint: door, front: front)
            let server = try await RawTCPServer(
                door, listen: Endpoint(host: "127.0.0.1", port: 0),
                gate: ConnectionGate(connections: 1000, perAddress: 1000), relay: { await relay.serve($0) })
            rawTCPPort.withLock { $0 = server.port ?? 0 }
            let task = Task { _ = try? await server.run() }
            tasks.withLock { $0.append(task) }
        }
        directory.listens(at: "http://127.0.0.1:\(innerPort)")
    }

    private func channel(
        _ sockets: [WebSocketEndpoint], _ gate: NodeGate?
    ) -> @Sendable (@escaping HTTPChannelHandler.Responder) -> WebChannel {
        { [endpoints] responder in
            WebChannel(
                responder: responder, endpoints: sockets, rules: endpoints.rules,
                gate: ConnectionGate(connections: 1000, perAddress: 1000), limits: endpoints.limits, isTLS: false,
                largeBodies: endpoints.largeBodies, table: endpoints.responder.table, servers: gate)
        }
    }

    private func start(
        _ responder: some HTTPResponder<WebContext>, _ logger: Logger,
        _ channel: @escaping @Sendable (@escaping HTTPChannelHandler.Responder) -> WebChannel
    ) async throws -> Int {
        let (ports, port) = AsyncStream<Int>.makeStream()
        let application = Application(
            responder: responder, server: HTTPServerBuilder { channel($0) },
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { port.yield($0.localAddress?.port ?? 0) }, logger: logger)
        let task = Task { _ = try? await application.run() }
        tasks.withLock { $0.append(task) }
        return await ports.first { _ in true } ?? 0
    }

    var url: String { "http://127.0.0.1:\(ports.withLock { $0.public })" }
    var port: Int { ports.withLock { $0.public } }
    var internalURL: String { "http://127.0.0.1:\(ports.withLock { $0.internal })" }

    /// Ends both listeners.
    func stop() async {
        for task in tasks.withLock({ $0 }) { task.cancel() }
        for task in tasks.withLock({ $0 }) { await task.value }
        await front.shutdown()
    }

    // MARK: Requests

    struct Answer: Sendable {
        var status: Int
        var headers: HTTPHeaders
        var body: String
        var json: JSONValue { (try? JSON.decode(JSONValue.self, from: Array(body.utf8))) ?? .null }
    }

    func ask(
        _ method: HTTPMethod = .GET, _ path: String, _ headers: [(String, String)] = [], body: String? = nil,
        internally: Bool = false
    ) async throws -> Answer {
        var request = HTTPClientRequest(url: (internally ? internalURL : url) + path)
        request.method = method
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        if let body { request.body = .bytes(ByteBuffer(string: body)) }
        let answer = try await HTTPClient.shared.execute(request, timeout: .seconds(10))
        let text = String(buffer: try await answer.body.collect(upTo: 16 << 20))
        return Answer(status: Int(answer.status.code), headers: answer.headers, body: text)
    }
}

/// A listener that takes connections and does what a node does not.
final class StrangeNode: Sendable {
    private let channel: any Channel
    private let count: Guarded<Int>
    var url: String { "http://127.0.0.1:\(channel.localAddress?.port ?? 0)" }
    /// Connections by which something came.
    var messages: Int { count.withLock { $0 } }

    /// - Parameter words: sent as soon as something comes; nil: nothing is ever sent.
    init(_ words: String?) async throws {
        let count = Guarded(0)
        self.count = count
        channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Speaker(words: words, count: count))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
    }

    func stop() async { try? await channel.close() }

    private final class Speaker: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer
        private let words: String?
        private let count: Guarded<Int>
        private var hasHeard = false
        init(words: String?, count: Guarded<Int>) { (self.words, self.count) = (words, count) }
        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            if !hasHeard { count.withLock { $0 += 1 } }
            hasHeard = true
            guard let words else { return }
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: words)), promise: nil)
        }
    }
}

/// A port of loopback at which nothing listens.
func closedPort() async throws -> Int {
    let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .bind(host: "127.0.0.1", port: 0).get()
    let port = channel.localAddress?.port ?? 1
    try await channel.close()
    return port
}

/// A client's WebSocket.
final class TestSocket: Sendable {
    private enum Upgrade: Sendable {
        case webSocket(NIOAsyncChannel<WebSocketFrame, WebSocketFrame>)
        case refused
    }

    private let texts = Guarded<[String]>([])
    private let closing = Guarded<UInt16?>(nil)
    private let ended = Guarded(false)
    private let paused = Guarded(false)
    private let channel: any Channel
    private let task = Guarded<Task<Void, Never>?>(nil)

    /// nil: the handshake was refused.
    init?(port: Int, _ path: String, _ headers: [(String, String)] = []) async throws {
        let upgrade: EventLoopFuture<Upgrade> = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    let upgrader = NIOTypedWebSocketClientUpgrader<Upgrade>(maxFrameSize: 1 << 24) { channel, _ in
                        channel.eventLoop.makeCompletedFuture {
                            .webSocket(try NIOAsyncChannel(wrappingChannelSynchronously: channel))
                        }
                    }
                    var all = HTTPHeaders([("Host", "localhost"), ("Content-Length", "0")])
                    for (name, value) in headers { all.add(name: name, value: value) }
                    let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: path, headers: all)
                    let configuration = NIOTypedHTTPClientUpgradeConfiguration(
                        upgradeRequestHead: head, upgraders: [upgrader]
                    ) { channel in
                        channel.close(promise: nil)
                        return channel.eventLoop.makeSucceededFuture(Upgrade.refused)
                    }
                    return try channel.pipeline.syncOperations.configureUpgradableHTTPClientPipeline(
                        configuration: .init(upgradeConfiguration: configuration))
                }
            }
        guard case .webSocket(let channel) = try await upgrade.get() else { return nil }
        self.channel = channel.channel
        let (texts, closing, ended, paused) = (texts, closing, ended, paused)
        let reading = Task {
            try? await channel.executeThenClose { inbound, outbound in
                for try await frame in inbound {
                    while paused.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(5)) }
                    var data = frame.unmaskedData
                    switch frame.opcode {
                    case .text: texts.withLock { $0.append(String(buffer: data)) }
                    case .binary: texts.withLock { $0.append("binary " + String(buffer: data)) }
                    case .ping:
                        try await outbound.write(
                            WebSocketFrame(fin: true, opcode: .pong, maskKey: .random(), data: data))
                    case .connectionClose:
                        closing.withLock { $0 = data.readInteger() ?? 1005 }
                        return
                    default: break
                    }
                }
            }
            ended.withLock { $0 = true }
        }
        task.withLock { $0 = reading }
    }

    func send(_ text: String) async {
        let frame = WebSocketFrame(fin: true, opcode: .text, maskKey: .random(), data: ByteBuffer(string: text))
        try? await channel.writeAndFlush(frame)
    }

    func close(_ code: UInt16) async {
        var data = ByteBuffer()
        data.writeInteger(code)
        try? await channel.writeAndFlush(
            WebSocketFrame(fin: true, opcode: .connectionClose, maskKey: .random(), data: data))
    }

    /// Stops reading, or reads on.
    func pause(_ isPaused: Bool) { paused.withLock { $0 = isPaused } }

    func end() { channel.close(promise: nil) }

    var received: [String] { texts.withLock { $0 } }
    var closeCode: UInt16? { closing.withLock { $0 } }
    var isEnded: Bool { ended.withLock { $0 } }

    func types() -> [String] {
        received.map { text in
            guard case .string(let type)? = (try? JSON.decode(JSONValue.self, from: Array(text.utf8)))?["type"] else {
                return "?"
            }
            return type
        }
    }
}

/// A client's plain connection.
final class TestBytes: Sendable {
    private let received = Guarded<[UInt8]>([])
    private let channel: any Channel
    private let ended = Guarded(false)

    init(port: Int) async throws {
        let (received, ended) = (received, ended)
        channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.closeFuture.whenComplete { _ in ended.withLock { $0 = true } }
                return channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Collector(received))
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
    }

    private final class Collector: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        private let received: Guarded<[UInt8]>
        init(_ received: Guarded<[UInt8]>) { self.received = received }
        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            received.withLock { $0 += unwrapInboundIn(data).readableBytesView }
        }
    }

    func send(_ bytes: [UInt8]) async { try? await channel.writeAndFlush(ByteBuffer(bytes: bytes)) }
    var text: String { String(decoding: received.withLock { $0 }, as: UTF8.self) }
    var isEnded: Bool { ended.withLock { $0 } }
    func end() { channel.close(promise: nil) }
}
