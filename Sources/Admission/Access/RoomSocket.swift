import Conference
package import NIOCore
package import WebServer

/// A WebSocket endpoint whose clients join rooms: what a router needs beside it to find the server that has the room.
package struct RoomSocket: Sendable {
    package var endpoint: WebSocketEndpoint
    /// Which server serves a connection.
    package var placement: SocketPlacement
    /// Checks who wants into a room before it is placed.
    package var entry: Entry
    /// The text frame that tells a client that no server takes it now; without it the connection closes with 1013.
    package var refusal: @Sendable (Refusal) -> ByteBuffer?

    package typealias Entry =
        @Sendable (
            _ door: any RoomDoor, _ uri: String, _ message: WebSocketConnection.Message, _ room: String
        ) throws(Refusal) -> Void

    package init(
        _ endpoint: WebSocketEndpoint, placement: SocketPlacement = .here,
        entry: @escaping Entry = { _, _, _, _ throws(Refusal) in },
        refusal: @escaping @Sendable (Refusal) -> ByteBuffer? = { _ in nil }
    ) {
        self.endpoint = endpoint
        self.placement = placement
        self.entry = entry
        self.refusal = refusal
    }
}

extension WebSocketEndpoint.Pattern {
    /// `/` and `/{room}`, for clients whose URL has nothing else to say.
    package static let room = WebSocketEndpoint.Pattern.names(Names.isRoom)
}

/// What decides who may want into a room, before one is placed for it.
package protocol RoomDoor: Sendable {
    /// - Parameters:
    ///   - token: what the client shows, where the mode is `token`.
    ///   - secret: of a seat that the client had in the room: its owner says whether it is still good.
    /// - Throws: `unauthorized` or `forbidden`, as the room's owner would.
    func check(_ room: String, token: String?, secret: String?) throws(Refusal)
}
