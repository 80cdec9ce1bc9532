import Basics
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import NIOHTTPTypesHTTP1
import NIOWebSocket

/// A connection that speaks HTTP/1.1, or WebSocket where a door asks for it.
struct GatewayChannel: ServerChildChannel, HTTPChannelHandler {
    enum Spoken: Sendable {
        case webSocket(NIOAsyncChannel<WebSocketFrame, WebSocketFrame>, WebSocketDoor, WebSocketConnection.Handshake)
        case http(NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>)
    }

    struct Value: ServerChildChannelValue {
        let channel: any Channel
        let result: EventLoopFuture<Spoken>
    }

    let responder: HTTPChannelHandler.Responder
    let doors: [WebSocketDoor]
    let origins: OriginPolicy
    /// The largest WebSocket message in bytes; a larger one is told to the client and ends the connection with code 1009.
    let maxMessageSize: Int

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        channel.eventLoop.makeCompletedFuture {
            let admission = WebSocketAdmission(doors: doors, origins: origins)
            let maxMessageSize = maxMessageSize
            let upgrader = NIOTypedWebSocketServerUpgrader<Spoken>(
                maxFrameSize: maxMessageSize, enableAutomaticErrorHandling: false,
                shouldUpgrade: { channel, head in
                    channel.eventLoop.makeSucceededFuture(admission.door(for: head) == nil ? nil : HTTPHeaders())
                },
                upgradePipelineHandler: { channel, head in
                    channel.eventLoop.makeCompletedFuture {
                        guard let door = admission.door(for: head) else { throw ChannelError.inappropriateOperationForState }
                        try channel.pipeline.syncOperations.addHandlers([
                            NIOWebSocketFrameAggregator(
                                minNonFinalFragmentSize: 0, maxAccumulatedFrameCount: 1024, maxAccumulatedFrameSize: maxMessageSize),
                            WebSocketFaultHandler(farewell: door.oversized),
                        ])
                        let remote = channel.remoteAddress?.ipAddress.flatMap { IPAddress($0)?.unmapped }
                        return .webSocket(
                            try NIOAsyncChannel(wrappingChannelSynchronously: channel), door,
                            WebSocketConnection.Handshake(uri: head.uri, remote: remote, headers: head.headers))
                    }
                })
            let encoder = HTTPResponseEncoder()
            let decoder = ByteToMessageHandler(HTTPRequestDecoder(leftOverBytesStrategy: .forwardBytes))
            let filter = UpgradeFilter(admission)
            let upgrade = NIOTypedHTTPServerUpgradeHandler<Spoken>(
                httpEncoder: encoder, extraHTTPHandlers: [decoder, filter],
                upgradeConfiguration: .init(
                    upgraders: [upgrader],
                    notUpgradingCompletionHandler: { channel in
                        channel.eventLoop.makeCompletedFuture {
                            try channel.pipeline.syncOperations.addHandlers([
                                HTTP1ToHTTPServerCodec(secure: false),
                                HTTPConnectionStateHandler(idleTimeout: .seconds(60), logger: logger),
                            ])
                            return .http(
                                try NIOAsyncChannel(
                                    wrappingChannelSynchronously: channel, configuration: .init(isOutboundHalfClosureEnabled: true)))
                        }
                    }))
            try channel.pipeline.syncOperations.addHandlers([encoder, decoder, filter, upgrade] as [any ChannelHandler])
            return Value(channel: channel, result: upgrade.upgradeResultFuture)
        }
    }

    func handle(value: Value, logger: Logger) async {
        switch try? await value.result.get() {
        case .http(let channel)?:
            await handleHTTP(asyncChannel: channel, logger: logger)
        case .webSocket(let channel, let door, let handshake)?:
            await door.serve(WebSocketConnection(channel, handshake: handshake))
        case nil:
            break
        }
    }
}

/// Which handshakes are good, and for which door.
struct WebSocketAdmission: Sendable {
    var doors: [WebSocketDoor]
    var origins: OriginPolicy

    /// The door that a complete and allowed WebSocket handshake (RFC 6455 §4.2.1) knocks at; nil for every other request.
    func door(for head: HTTPRequestHead) -> WebSocketDoor? {
        let path = head.uri.prefix { $0 != "?" }
        guard head.method == .GET, let door = doors.first(where: { $0.path == path }),
            head.headers[canonicalForm: "upgrade"].contains(where: { $0.lowercased() == "websocket" }),
            head.headers[canonicalForm: "connection"].contains(where: { $0.lowercased() == "upgrade" }),
            head.headers["sec-websocket-version"] == ["13"],
            let key = head.headers["sec-websocket-key"].first, key.utf8.count == 24
        else { return nil }
        let hosts = head.headers["host"] + head.headers["x-forwarded-host"]
        guard !door.checksOrigin || origins.allows(origin: head.headers.first(name: "origin"), hosts: hosts) else { return nil }
        return door
    }
}

/// Takes `Upgrade` from requests that no upgrader will take: NIO's typed upgrader would drop their head, and the client
/// would wait for an answer until it gives up.
final class UpgradeFilter: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart

    private let admission: WebSocketAdmission

    init(_ admission: WebSocketAdmission) { self.admission = admission }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .head(var head) = unwrapInboundIn(data), head.headers.contains(name: "upgrade"), admission.door(for: head) == nil {
            head.headers.remove(name: "upgrade")
            context.fireChannelRead(wrapInboundOut(.head(head)))
        } else {
            context.fireChannelRead(data)
        }
    }
}
