/// How the node for a WebSocket is found.
enum SocketPlacement: Sendable {
    /// Every node serves it.
    case here
    /// By the handshake's path; the node is reached when the first message comes.
    case byPath(@Sendable (_ uri: String) -> String)
    /// By the first message that names a room. Until then the node that got the connection answers.
    case byMessage(RoomNeed, @Sendable (WebSocketConnection.Message) -> String?)
    /// The owner of the Socket.IO family, from the start on.
    case socketIO
}
