import Basics
import Hummingbird
package import HummingbirdCore
package import Logging
package import NIOCore
package import NIOHTTP1
package import NIOHTTPTypes
import NIOHTTPTypesHTTP1
package import NIOWebSocket
import Threads

/// A connection with HTTP/1.1, or with WebSocket where an endpoint takes the upgrade.
package struct WebChannel: ServerChildChannel, HTTPChannelHandler {
    package enum Spoken: Sendable {
        case webSocket(
            NIOAsyncChannel<WebSocketFrame, WebSocketFrame>, WebSocketEndpoint, WebSocketConnection.Handshake)
        case http(NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>)
        /// An endpoint has taken the channel.
        case taken(serve: @Sendable () async -> Void)
    }

    package struct Value: ServerChildChannelValue {
        package let channel: any Channel
        package let result: EventLoopFuture<Spoken>
    }

    package let responder: HTTPChannelHandler.Responder
    package let endpoints: [WebSocketEndpoint]
    package let rules: RequestRules
    package let gate: ConnectionGate
    package let limits: RequestLimits
    package let isTLS: Bool
    package let largeBodies: LargeBodies
    /// For the limits of bodies.
    package let table: RouteTable
    /// Of an internal listener: what lets other servers in. nil: clients connect.
    package var servers: (any ServerGate)?

    package init(
        responder: @escaping HTTPChannelHandler.Responder, endpoints: [WebSocketEndpoint], rules: RequestRules,
        gate: ConnectionGate, limits: RequestLimits, isTLS: Bool, largeBodies: LargeBodies, table: RouteTable,
        servers: (any ServerGate)? = nil
    ) {
        self.responder = responder
        self.endpoints = endpoints
        self.rules = rules
        self.gate = gate
        self.limits = limits
        self.isTLS = isTLS
        self.largeBodies = largeBodies
        self.table = table
        self.servers = servers
    }

    /// Bytes of one read, which are parsed at once: in memory the smallest requests take eight times as much, the
    /// smallest frames twenty times. A large offer or body takes a few reads.
    package static let readBytes = 4096
    /// Bytes of the system's receive buffer, which Linux doubles for its own data. By default a connection could fill 6
    /// MB, and NIO reads all of it at once when a client closes its side.
    private static let receiveBuffer: SocketOptionValue = 65_536
    /// The waiting messages of a WebSocket at which the server stops reading. Each has up to `maxMessageBytes`.
    private static let waitingMessages = NIOAsyncSequenceProducerBackPressureStrategies.HighLowWatermark(
        lowWatermark: 1, highWatermark: 2)

    package func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        let ticket: ConnectionGate.Ticket
        let address = channel.remoteAddress?.ipAddress.flatMap { IPAddress(withoutZone: $0) }
        switch gate.open(address, end: { channel.close(promise: nil) }) {
        case .success(let taken): ticket = taken
        case .failure(let refused): return channel.eventLoop.makeSucceededFuture(refuse(channel, refused))
        }
        channel.closeFuture.whenComplete { _ in ticket.close() }
        return channel.eventLoop.makeCompletedFuture {
            if let options = channel.syncOptions {
                try options.setOption(
                    .recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: WebChannel.readBytes))
                try options.setOption(.maxMessagesPerRead, value: 1)
                try options.setOption(.socketOption(.so_rcvbuf), value: WebChannel.receiveBuffer)
            }
            let admission = WebSocketAdmission(endpoints: endpoints, rules: rules, servers: servers)
            let connection = ConnectionGuard(ticket, wait: isTLS ? .tls : .head)
            let here = NIOLoopBound(connection, eventLoop: channel.eventLoop)
            let upgrader = EndpointUpgrader<Spoken> { [largeBodies, rules, servers] channel, head in
                guard let (endpoint, source) = admission.admit(head, channel) else { return nil }
                return NIOTypedWebSocketServerUpgrader<Spoken>(
                    maxFrameSize: endpoint.maxMessageBytes, enableAutomaticErrorHandling: false,
                    shouldUpgrade: { channel, head in
                        let agreement = endpoint.agreement(head, isOfNode: servers != nil)
                        return channel.eventLoop.makeSucceededFuture(MessageCompression.headers(agreement))
                    },
                    upgradePipelineHandler: { channel, head in
                        channel.eventLoop.makeCompletedFuture {
                            let connection = here.value
                            ticket.become(.outside)
                            connection.expect(.nothing)
                            connection.allow(bytes: ConnectionGuard.outsideBytes)
                            connection.limitMessages {
                                largeBodies.take(source.client, as: here.value.isUnlimited ? .inside : .stranger)
                            }
                            let address = rules.publicAddress(for: source)
                            return try WebChannel.serve(
                                endpoint, channel, connection, ticket,
                                endpoint.agreement(head, isOfNode: servers != nil),
                                WebSocketConnection.Handshake(
                                    uri: head.uri, remote: source.client, headers: head.headers, address: address,
                                    isOfNode: servers != nil
                                ) { isInside in
                                    ticket.become(isInside ? .busy : .outside)
                                    channel.eventLoop.execute {
                                        here.value.allow(bytes: isInside ? nil : ConnectionGuard.outsideBytes)
                                    }
                                } count: {
                                    ticket.count($0)
                                })
                        }
                    })
            }
            let encoder = HTTPResponseEncoder()
            let decoder = ByteToMessageHandler(HTTPRequestDecoder(leftOverBytesStrategy: .forwardBytes))
            let fault = ParserFaultHandler()
            let filter = UpgradeFilter(admission)
            // A trusted proxy and another server send the requests of many clients, and limit them themselves.
            let isProxy =
                servers != nil
                || address.map { address in rules.trustedProxies.contains { $0.contains(address) } } ?? false
            let watch = RequestWatch(ticket, connection) { [table] head in
                table.bodyLimit(head.method.rawValue, head.uri.prefix { $0 != "?" })
            } turn: { [limits] in
                isProxy ? .zero : limits.turn(address, at: MonotonicClock.now())
            }
            let upgrade = NIOTypedHTTPServerUpgradeHandler<Spoken>(
                httpEncoder: encoder, extraHTTPHandlers: [decoder, fault, watch, filter],
                upgradeConfiguration: .init(
                    upgraders: [upgrader],
                    notUpgradingCompletionHandler: { channel in
                        channel.eventLoop.makeCompletedFuture {
                            try channel.pipeline.syncOperations.addHandlers([
                                HTTP1ToHTTPServerCodec(secure: false),
                                // For half-closure only: `ConnectionGuard` ends idle connections.
                                HTTPConnectionStateHandler(idleTimeout: nil, logger: logger),
                            ])
                            return .http(
                                try NIOAsyncChannel(
                                    wrappingChannelSynchronously: channel,
                                    configuration: .init(isOutboundHalfClosureEnabled: true)))
                        }
                    }))
            try channel.pipeline.syncOperations.addHandlers(
                [encoder, decoder, fault, watch, filter, upgrade] as [any ChannelHandler])
            // In front of TLS, which is there already.
            try channel.pipeline.syncOperations.addHandler(connection, position: .first)
            return Value(channel: channel, result: upgrade.upgradeResultFuture)
        }
    }

    /// Makes the pipeline of a connection that has become a WebSocket. Called on its event loop.
    private static func serve(
        _ endpoint: WebSocketEndpoint, _ channel: any Channel, _ connection: ConnectionGuard,
        _ ticket: ConnectionGate.Ticket, _ agreement: MessageCompression.Agreement?,
        _ handshake: WebSocketConnection.Handshake
    ) throws -> Spoken {
        let check = FrameCheck(mayBeCompressed: agreement != nil)
        try channel.pipeline.syncOperations.addHandlers([
            check,
            NIOWebSocketFrameAggregator(
                minNonFinalFragmentSize: 0, maxAccumulatedFrameCount: 1024,
                maxAccumulatedFrameSize: endpoint.maxMessageBytes),
        ])
        if let agreement, let compresses = endpoint.compresses {
            // What needs no place among large bodies, and is no larger than a message may be.
            let most = min(endpoint.maxMessageBytes, LargeBodies.freeBytes)
            try channel.pipeline.syncOperations.addHandler(
                MessageCompression(agreement, check: check, most: most, isCompressed: compresses) {
                    connection.takesInflated($0)
                })
        }
        try channel.pipeline.syncOperations.addHandler(
            WebSocketFaultHandler {
                connection.messageEnded()
            } errorText: {
                ticket.count(.bodySize)
                return endpoint.oversized(connection.isUnlimited)
            })
        if let take = endpoint.takeChannel {
            return .taken(serve: try take(channel, handshake, WebChannel.waitingMessages))
        }
        return .webSocket(
            try NIOAsyncChannel(
                wrappingChannelSynchronously: channel,
                configuration: .init(backPressureStrategy: WebChannel.waitingMessages)),
            endpoint, handshake)
    }

    /// Refuses a connection beyond the limit. Without TLS the client gets an answer, since that costs one small packet.
    private func refuse(_ channel: any Channel, _ refused: ConnectionGate.Refused) -> Value {
        let close: @Sendable () -> Void = { channel.close(promise: nil) }
        if isTLS {
            channel.eventLoop.execute(close)
        } else {
            // The channel is registered only after this call and cannot write before.
            channel.eventLoop.scheduleTask(in: .milliseconds(1)) {
                channel.writeAndFlush(ByteBuffer(string: WebChannel.full)).whenComplete { _ in close() }
            }
        }
        return Value(channel: channel, result: channel.eventLoop.makeFailedFuture(refused))
    }

    private static let full: String = {
        let body =
            #"{"error":{"code":"overloaded","message":"too many connections (limits.connections, limits.connectionsPerAddress)"}}"#
        return
            "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nConnection: close\r\nContent-Type: application/json\r\n"
            + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }()

    package func handle(value: Value, logger: Logger) async {
        switch try? await value.result.get() {
        case .http(let channel)?:
            await handleHTTP(asyncChannel: channel, logger: logger)
        case .webSocket(let channel, let endpoint, let handshake)?:
            await endpoint.serve(
                WebSocketConnection(
                    channel, handshake: handshake, maxOutboxBytes: endpoint.maxOutboxBytes,
                    outsideLimit: endpoint.outsideLimit))
        case .taken(let serve)?:
            await serve()
        case nil:
            break
        }
    }
}

extension WebSocketEndpoint {
    /// How messages are compressed; nil: not at all. What other servers pass on does not leave the data centre.
    fileprivate func agreement(_ head: HTTPRequestHead, isOfNode: Bool) -> MessageCompression.Agreement? {
        compresses == nil || isOfNode ? nil : MessageCompression.agreement(head.headers)
    }
}

/// Lets other servers in at an internal listener.
package protocol ServerGate: Sendable {
    /// The source of a request that another server passes on: the client as that server found it; nil: it is none.
    func source(_ headers: HTTPHeaders) -> RequestSource?
}

/// Decides which WebSocket handshakes are accepted, and by which endpoint.
struct WebSocketAdmission: Sendable {
    var endpoints: [WebSocketEndpoint]
    var rules: RequestRules
    var servers: (any ServerGate)?

    /// The endpoint of a complete and allowed WebSocket handshake (RFC 6455 §4.2.1); nil for every other request.
    func admit(_ head: HTTPRequestHead, _ channel: any Channel) -> (WebSocketEndpoint, RequestSource)? {
        let path = head.uri.prefix { $0 != "?" }
        guard head.method == .GET, let endpoint = endpoints.first(where: { $0.takes(path: path) }),
            head.headers[canonicalForm: "upgrade"].contains(where: { $0.lowercased() == "websocket" }),
            head.headers[canonicalForm: "connection"].contains(where: { $0.lowercased() == "upgrade" }),
            head.headers["sec-websocket-version"] == ["13"],
            let key = head.headers["sec-websocket-key"].first, key.utf8.count == 24
        else { return nil }
        // The server that passes it on has checked names and origins.
        if let servers { return servers.source(head.headers).map { (endpoint, $0) } }
        let source = rules.source(
            remote: channel.remoteAddress?.ipAddress, local: channel.localAddress?.ipAddress,
            host: head.headers.first(name: "host"),
            headers: ProxyHeaders(head.headers))
        let origin = head.headers.first(name: "origin")
        guard !rules.hosts.mayBeRebinding(source),
            rules.origins.allows(
                origin: origin, hosts: source.hosts, apps: endpoint.appOrigins,
                isBrowser: OriginPolicy.isBrowser(head.headers))
        else { return nil }
        return (endpoint, source)
    }
}

/// Removes `Upgrade` from requests that no upgrader accepts: NIO's typed upgrader would drop their head, and the client
/// would get no answer.
final class UpgradeFilter: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart

    private let admission: WebSocketAdmission

    init(_ admission: WebSocketAdmission) { self.admission = admission }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .head(var head) = unwrapInboundIn(data), head.headers.contains(name: "upgrade"),
            admission.admit(head, context.channel) == nil
        {
            head.headers.remove(name: "upgrade")
            context.fireChannelRead(wrapInboundOut(.head(head)))
        } else {
            context.fireChannelRead(data)
        }
    }
}
