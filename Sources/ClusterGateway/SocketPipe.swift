import Admission
import AsyncHTTPClient
import Basics
package import Cluster
import FoundationEssentials
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import NIOWebSocket
import Threads
import WebServer

/// The open pipes of this node to others.
package final class SocketPipes: Sendable {
    private let open = Guarded<(next: UInt64, pipes: [UInt64: SocketPipe])>((0, [:]))

    package var count: Int { open.withLock { $0.pipes.count } }

    fileprivate func add(_ pipe: SocketPipe) -> UInt64 {
        open.withLock { open in
            defer { open.next += 1 }
            open.pipes[open.next] = pipe
            return open.next
        }
    }

    fileprivate func remove(_ id: UInt64) { open.withLock { open in _ = open.pipes.removeValue(forKey: id) } }

    /// Ends the pipes that lead to a node, since it is gone.
    package func nodeIsGone(_ node: NodeRecord) {
        let ended = open.withLock { open in
            open.pipes.values.filter { $0.node.id == node.id && $0.node.incarnation == node.incarnation }
        }
        for pipe in ended { pipe.end() }
    }

    func endAll() { for pipe in open.withLock({ Array($0.pipes.values) }) { pipe.end() } }
}

/// A WebSocket of this node to the internal listener of a room's owner, on behalf of one client.
///
/// Either side's bytes are read only as fast as the other side takes them. Pings are answered at each hop.
final class SocketPipe: Sendable {
    enum Event: Sendable {
        case text(ByteBuffer)
        case binary(ByteBuffer)
        /// The client is in a room.
        case inside
        /// The client waits to be let in.
        case waits
        /// The pipe has ended, by the owner's close frame or (nil) without one. Not after `leave`.
        case closed(UInt16?, String)
    }

    private enum Upgrade: Sendable {
        case webSocket(NIOAsyncChannel<WebSocketFrame, WebSocketFrame>)
        case refused
    }

    /// What the owner says first.
    private enum Opening: Sendable { case serving, misdirected, full, busy, ended, timeout }

    private struct State {
        var outbound: NIOAsyncChannelOutboundWriter<WebSocketFrame>?
        var channel: (any Channel)?
        var isOpen = false
        var isLeft = false
        var lastHeard = MonotonicClock.now()
    }

    let node: NodeRecord
    private let uri: String
    private let headers: HTTPHeaders
    private let maxFrameBytes: Int
    private let front: ClusterFront
    private let kind: ProxyMetrics.Kind
    private let state = Guarded(State())

    /// The owner sends pings twice as often.
    private static let silenceLimit = WebSocketConnection.silenceLimit

    convenience init(
        to owner: RoomOwner, room: String, handshake: WebSocketConnection.Handshake, limit: WebSocketEndpoint,
        front: ClusterFront, kind: ProxyMetrics.Kind
    ) {
        var headers = HTTPHeaders()
        headers.add(name: "Host", value: handshake.headers.first(name: "host") ?? "localhost")
        for (name, value) in handshake.headers where NodeHeaders.passes(name) { headers.add(name: name, value: value) }
        let own = NodeHeaders(client: handshake.remote, address: handshake.address, owner: owner, room: room)
        for field in own.fields(front.tokens.make(for: owner.node.id)) {
            headers.add(name: field.name, value: field.value)
        }
        self.init(
            to: owner.node, uri: handshake.uri, headers: headers,
            maxFrameBytes: max(1 << 20, limit.maxMessageBytes, limit.maxOutboxBytes), front: front, kind: kind)
    }

    init(
        to node: NodeRecord, uri: String, headers: HTTPHeaders, maxFrameBytes: Int, front: ClusterFront,
        kind: ProxyMetrics.Kind
    ) {
        self.node = node
        self.uri = uri
        self.headers = headers
        self.maxFrameBytes = maxFrameBytes
        self.front = front
        self.kind = kind
    }

    /// Whether the owner serves it.
    var isOpen: Bool { state.withLock { $0.isOpen } }

    /// Connects, and returns when the owner serves the pipe.
    ///
    /// - Parameter receive: called one event after the other; the owner is read no further meanwhile.
    func open(_ receive: @escaping @Sendable (Event) async -> Void) async -> ClusterFront.Attempt<Void> {
        let channel: NIOAsyncChannel<WebSocketFrame, WebSocketFrame>
        do {
            guard case .webSocket(let upgraded) = try await connect() else {
                return useless(await whyNot())
            }
            channel = upgraded
        } catch {
            switch NodeClient.outcome(of: error) {
            case .refused:
                front.metrics.count(kind, .refused)
                return .refused
            case .invalidAnswer(let why): return useless(why)
            case .unanswered, .answer, .gone: return failed(.unanswered)
            }
        }
        let (openings, opening) = AsyncStream<Opening>.makeStream(bufferingPolicy: .bufferingOldest(1))
        state.withLock { $0.channel = channel.channel }
        Task { [self] in await run(channel, opening, receive) }
        let timeout = Task { [limit = front.timing.socket] in
            try? await Task.sleep(for: limit)
            opening.yield(.timeout)
        }
        defer { timeout.cancel() }
        switch await openings.first(where: { _ in true }) ?? .ended {
        case .serving:
            front.metrics.count(kind, .done)
            return .done(())
        case .misdirected:
            leave(nil)
            front.metrics.count(kind, .misdirected)
            return .misdirected
        case .full:
            leave(nil)
            front.metrics.count(kind, .full)
            return .full
        case .busy:
            leave(nil)
            front.metrics.count(kind, .done)
            return .failed(Refusal(.overloaded, "the room's node cannot take it now", retryAfter: .seconds(1)))
        case .ended, .timeout:
            leave(nil)
            return failed(.unanswered)
        }
    }

    /// Why the node opens no WebSocket: a plain request is told.
    private func whyNot() async -> String {
        var request = HTTPClientRequest(url: node.url + "/cluster/alive")
        request.headers.add(name: NodeHeaders.token, value: front.tokens.make(for: node.id))
        if case .invalidAnswer(let why) = await front.peers.send(request, to: node, within: front.timing.connect) {
            return why
        }
        return "it opens no WebSocket: its log may say why"
    }

    private static let silent = Refusal(.overloaded, "the room's node does not answer", retryAfter: .seconds(1))

    private func failed(_ result: ProxyMetrics.Result) -> ClusterFront.Attempt<Void> {
        front.metrics.count(kind, result)
        return .failed(Self.silent)
    }

    private func useless(_ why: String) -> ClusterFront.Attempt<Void> {
        front.logIncompatible(node, why)
        front.metrics.count(kind, .invalidAnswer)
        return .incompatible(Self.silent)
    }

    /// Sends a client's message. Returns when the connection has taken it.
    func send(_ message: WebSocketConnection.Message) async {
        switch message {
        case .text(let text): await write(.text, ByteBuffer(string: text))
        case .binary(let bytes): await write(.binary, ByteBuffer(bytes: bytes))
        }
    }

    func send(_ bytes: ByteBuffer) async { await write(.binary, bytes) }

    /// Ends the pipe at once, as if the owner had.
    func end() { state.withLock { $0.channel }?.close(promise: nil) }

    /// Ends the pipe because its client has ended, or goes elsewhere: no further event comes.
    ///
    /// - Parameter code: of the client's close frame.
    func leave(_ code: UInt16?) {
        let channel = state.withLock { state in
            state.isLeft = true
            return state.channel
        }
        guard let channel else { return }
        var payload = ByteBuffer()
        payload.writeInteger(code ?? 1001)
        let frame = WebSocketFrame(fin: true, opcode: .connectionClose, maskKey: .random(), data: payload)
        channel.writeAndFlush(frame).whenComplete { _ in
            // Half a second for the owner's close frame.
            channel.eventLoop.scheduleTask(in: .milliseconds(500)) { channel.close(promise: nil) }
        }
    }

    private func write(_ opcode: WebSocketOpcode, _ data: ByteBuffer) async {
        guard let outbound = state.withLock({ $0.outbound }) else { return }
        try? await outbound.write(WebSocketFrame(fin: true, opcode: opcode, maskKey: .random(), data: data))
    }

    // MARK: The connection

    private func run(
        _ channel: NIOAsyncChannel<WebSocketFrame, WebSocketFrame>, _ opening: AsyncStream<Opening>.Continuation,
        _ receive: @escaping @Sendable (Event) async -> Void
    ) async {
        let id = front.pipes.add(self)
        let end = Guarded<(code: UInt16?, reason: String)>((nil, ""))
        try? await channel.executeThenClose { inbound, outbound in
            state.withLock { $0.outbound = outbound }
            await withTaskGroup(of: Void.self) { group in
                group.addTask { [self] in
                    do {
                        for try await frame in inbound {
                            if try await take(frame, outbound, opening, end, receive) { break }
                        }
                    } catch {}
                    channel.channel.close(promise: nil)
                }
                group.addTask { [self] in await watchSilence(channel.channel) }
                await group.next()
                group.cancelAll()
            }
        }
        front.pipes.remove(id)
        opening.yield(.ended)
        let (isLeft, wasOpen) = state.withLock { state in
            defer { (state.isOpen, state.outbound) = (false, nil) }
            return (state.isLeft, state.isOpen)
        }
        let (code, reason) = end.withLock { $0 }
        if !isLeft, wasOpen { await receive(.closed(code, reason)) }
    }

    /// Returns whether that was the last frame.
    private func take(
        _ frame: WebSocketFrame, _ outbound: NIOAsyncChannelOutboundWriter<WebSocketFrame>,
        _ opening: AsyncStream<Opening>.Continuation, _ end: Guarded<(code: UInt16?, reason: String)>,
        _ receive: @Sendable (Event) async -> Void
    ) async throws -> Bool {
        state.withLock { $0.lastHeard = MonotonicClock.now() }
        let isLeft = state.withLock { $0.isLeft }
        switch PipeFrame(frame) {
        case .text(let data): if !isLeft { await receive(.text(data)) }
        case .binary(let data): if !isLeft { await receive(.binary(data)) }
        case .ping(let notice, let data):
            switch notice {
            case .serving:
                state.withLock { $0.isOpen = true }
                opening.yield(.serving)
            case .inside: await receive(.inside)
            case .waits: await receive(.waits)
            case nil: break
            }
            try await outbound.write(WebSocketFrame(fin: true, opcode: .pong, maskKey: .random(), data: data))
        case .close(let code, let reason):
            if !isOpen {
                switch code {
                case OwnedSocket.notOwner: opening.yield(.misdirected)
                case OwnedSocket.full: opening.yield(.full)
                default: opening.yield(.busy)
                }
            }
            end.withLock { $0 = (code, reason) }
            return true
        case .other: break
        }
        return false
    }

    /// Ends a pipe whose owner has been silent for too long.
    private func watchSilence(_ channel: any Channel) async {
        while !Task.isCancelled, channel.isActive {
            let end = state.withLock { $0.lastHeard } + Self.silenceLimit
            if MonotonicClock.now() >= end { return channel.close(promise: nil) }
            do { try await Task.sleep(for: end - MonotonicClock.now()) } catch { return }
        }
    }

    private func connect() async throws -> Upgrade {
        guard let url = URL(string: node.url), let host = url.host() else { throw ChannelError.unknownLocalAddress }
        let isSecure = url.scheme == "https"
        let port = url.port ?? (isSecure ? 443 : 80)
        let bare = host.first == "[" ? String(host.dropFirst().dropLast()) : host
        let upgrade = try await ClientBootstrap(group: NIOSingletons.posixEventLoopGroup)
            .connectTimeout(TimeAmount(front.timing.connect))
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .connect(host: bare, port: port) { [self] channel in
                channel.eventLoop.makeCompletedFuture {
                    if isSecure { try addTLS(to: channel, host: bare) }
                    return try configure(channel)
                }
            }
        return try await upgrade.get()
    }

    private func addTLS(to channel: any Channel, host: String) throws {
        guard let context = front.peers.tls else { throw ChannelError.inappropriateOperationForState }
        // A name that is an address goes into no SNI, and is verified as an address.
        let name = IPAddress(host) == nil ? host : nil
        try channel.pipeline.syncOperations.addHandler(NIOSSLClientHandler(context: context, serverHostname: name))
    }

    private func configure(_ channel: any Channel) throws -> EventLoopFuture<Upgrade> {
        let limit = maxFrameBytes
        let upgrader = NIOTypedWebSocketClientUpgrader<Upgrade>(maxFrameSize: limit) { channel, _ in
            channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.addHandler(
                    NIOWebSocketFrameAggregator(
                        minNonFinalFragmentSize: 0, maxAccumulatedFrameCount: 64, maxAccumulatedFrameSize: limit))
                return .webSocket(
                    try NIOAsyncChannel(
                        wrappingChannelSynchronously: channel,
                        configuration: .init(
                            backPressureStrategy: NIOAsyncSequenceProducerBackPressureStrategies.HighLowWatermark(
                                lowWatermark: 1, highWatermark: 2))))
            }
        }
        var headers = headers
        headers.add(name: "Content-Length", value: "0")
        let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: uri, headers: headers)
        let configuration = NIOTypedHTTPClientUpgradeConfiguration(upgradeRequestHead: head, upgraders: [upgrader]) {
            channel in
            channel.close(promise: nil)
            return channel.eventLoop.makeSucceededFuture(.refused)
        }
        // An owner that takes the connection and never answers.
        let timeout = channel.eventLoop.scheduleTask(in: TimeAmount(front.timing.socket)) {
            channel.close(promise: nil)
        }
        var pipeline = NIOUpgradableHTTPClientPipelineConfiguration(upgradeConfiguration: configuration)
        // The owner's first frame may come in one packet with its 101.
        pipeline.leftOverBytesStrategy = .forwardBytes
        let upgraded = try channel.pipeline.syncOperations.configureUpgradableHTTPClientPipeline(
            configuration: pipeline)
        upgraded.whenComplete { _ in timeout.cancel() }
        return upgraded
    }
}
