import Basics
import Conference
import FoundationEssentials
import NIOCore
import NIOHTTP1

/// A path that takes WebSocket connections, its limits, and the code that serves them.
struct WebSocketEndpoint: Sendable {
    enum Pattern: Sendable, Equatable {
        case path(String)
        /// `/` and `/{room}`, for clients whose URL has nothing else to say.
        case room
    }

    var pattern: Pattern
    /// Fixed origins that apps send, beside those that `http.allowedOrigins` lists.
    var appOrigins: Set<WebOrigin> = []
    /// The largest message of a client in bytes; after a larger one the client gets an error, and the connection ends
    /// with code 1009.
    var maxMessageBytes: Int
    /// The most bytes that wait for the client; beyond them the connection ends.
    var maxOutboxBytes = Outbox.maxBytes
    /// The time in which a client must enter a room; nil: it may wait, until its place is needed for another.
    var outsideLimit: Duration? = .seconds(30)
    /// The text frame that a client gets after a message above the limit, before the connection closes with 1009;
    /// different inside and outside of a room.
    var oversized: @Sendable (_ isInside: Bool) -> String? = { _ in nil }
    /// The messages are a raw TCP client's bytes, for `GatewayChannel.rawTCP`.
    var isRawTCP = false
    /// Which node of a cluster serves a connection.
    var placement = SocketPlacement.here
    /// Checks who wants into a room before it is placed.
    var entry: Entry = { _, _, _, _ throws(Refusal) in }
    /// The text frame that tells a client that no node takes it now; without it the connection closes with 1013.
    var refusal: @Sendable (Refusal) -> ByteBuffer? = { _ in nil }
    /// Serves a connection and returns when it has ended.
    var serve: @Sendable (WebSocketConnection) async -> Void

    typealias Entry =
        @Sendable (
            _ door: any RoomDoor, _ uri: String, _ message: WebSocketConnection.Message, _ room: String
        ) throws(Refusal) -> Void

    /// - Parameter path: still percent-encoded, without the query.
    func takes(path: some StringProtocol) -> Bool {
        switch pattern {
        case .path(let own): return path == own
        case .room:
            guard let name = path.dropFirst().percentDecoded, path.first == "/" else { return false }
            return name.isEmpty || Names.isRoom(name)
        }
    }
}

/// What decides who may want into a room, before one is placed for it.
protocol RoomDoor: Sendable {
    /// - Parameters:
    ///   - token: what the client shows, where the mode is `token`.
    ///   - secret: of a seat that the client had in the room: its owner says whether it is still good.
    /// - Throws: `unauthorized` or `forbidden`, as the room's owner would.
    func check(_ room: String, token: String?, secret: String?) throws(Refusal)
    /// Checks a message that joins a room, or comes back to it.
    func check(_ message: WebSocketConnection.Message, for room: String) throws(Refusal)
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
