import Basics
import FoundationEssentials
package import NIOCore
import NIOHTTP1

/// A path that takes WebSocket connections, its limits, and the code that serves them.
package struct WebSocketEndpoint: Sendable {
    package enum Pattern: Sendable {
        case path(String)
        /// `/` and `/{name}`, for clients whose URL has nothing else to say.
        case names(@Sendable (_ name: String) -> Bool)

        package var isOfNames: Bool { if case .names = self { true } else { false } }
    }

    package var pattern: Pattern
    /// Fixed origins that apps send, beside those that `http.allowedOrigins` lists.
    package var appOrigins: Set<WebOrigin> = []
    /// The largest message of a client in bytes; after a larger one the client gets an error, and the connection ends
    /// with code 1009.
    package var maxMessageBytes: Int
    /// The most bytes that wait for the client; beyond them the connection ends.
    package var maxOutboxBytes = Outbox.maxBytes
    /// The time in which a client must enter a room; nil: it may wait, until its place is needed for another.
    package var outsideLimit: Duration? = .seconds(30)
    /// The text frame that a client gets after a message above the limit, before the connection closes with 1009;
    /// different inside and outside of a room.
    package var oversized: @Sendable (_ isInside: Bool) -> String? = { _ in nil }
    /// Which messages to the client are compressed, where it can (RFC 7692); nil: nothing is, in neither direction. None
    /// that has a secret beside what others have written.
    package var compresses: (@Sendable (ByteBuffer) -> Bool)?
    /// Takes the channel of a handshake, in place of `serve`: its messages have another form.
    package var takeChannel: TakeChannel?
    /// Serves a connection and returns when it has ended.
    package var serve: @Sendable (WebSocketConnection) async -> Void

    package init(
        pattern: Pattern, appOrigins: Set<WebOrigin> = [], maxMessageBytes: Int, maxOutboxBytes: Int = Outbox.maxBytes,
        outsideLimit: Duration? = .seconds(30),
        oversized: @escaping @Sendable (_ isInside: Bool) -> String? = { _ in nil },
        compresses: (@Sendable (ByteBuffer) -> Bool)? = nil, takeChannel: TakeChannel? = nil,
        serve: @escaping @Sendable (WebSocketConnection) async -> Void
    ) {
        self.pattern = pattern
        self.appOrigins = appOrigins
        self.maxMessageBytes = maxMessageBytes
        self.maxOutboxBytes = maxOutboxBytes
        self.outsideLimit = outsideLimit
        self.oversized = oversized
        self.compresses = compresses
        self.takeChannel = takeChannel
        self.serve = serve
    }

    /// Called on the channel's event loop; what it returns serves the connection.
    package typealias TakeChannel =
        @Sendable (
            any Channel, WebSocketConnection.Handshake,
            _ waiting: NIOAsyncSequenceProducerBackPressureStrategies.HighLowWatermark
        ) throws -> @Sendable () async -> Void

    /// - Parameter path: still percent-encoded, without the query.
    package func takes(path: some StringProtocol) -> Bool {
        switch pattern {
        case .path(let own): return path == own
        case .names(let isName):
            guard let name = path.dropFirst().percentDecoded, path.first == "/" else { return false }
            return name.isEmpty || isName(name)
        }
    }
}

/// Upgrades a handshake by the upgrader of the endpoint that takes it, since each has its own limit of a frame.
struct EndpointUpgrader<Result: Sendable>: NIOTypedHTTPServerProtocolUpgrader {
    let supportedProtocol = "websocket"
    let requiredUpgradeHeaders: [String] = []
    /// nil: no endpoint takes the handshake.
    let upgrader: @Sendable (any Channel, HTTPRequestHead) -> (any NIOTypedHTTPServerProtocolUpgrader<Result>)?

    func buildUpgradeResponse(
        channel: any Channel, upgradeRequest: HTTPRequestHead, initialResponseHeaders: HTTPHeaders
    ) -> EventLoopFuture<HTTPHeaders> {
        guard let upgrader = upgrader(channel, upgradeRequest) else { return refuse(channel) }
        return upgrader.buildUpgradeResponse(
            channel: channel, upgradeRequest: upgradeRequest, initialResponseHeaders: initialResponseHeaders)
    }

    func upgrade(channel: any Channel, upgradeRequest: HTTPRequestHead) -> EventLoopFuture<Result> {
        guard let upgrader = upgrader(channel, upgradeRequest) else { return refuse(channel) }
        return upgrader.upgrade(channel: channel, upgradeRequest: upgradeRequest)
    }

    private func refuse<Value>(_ channel: any Channel) -> EventLoopFuture<Value> {
        channel.eventLoop.makeFailedFuture(ChannelError.inappropriateOperationForState)
    }
}
