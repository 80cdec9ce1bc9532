package import WebServer

/// How the server for a WebSocket is found.
package enum SocketPlacement: Sendable {
    /// Every server serves it.
    case here
    /// By the handshake's path; the server is reached when the first message comes.
    case byPath(@Sendable (_ uri: String) -> String)
    /// By the first message that names a room. Until then the server that got the connection answers.
    case byMessage(OwnerNeed, @Sendable (WebSocketConnection.Message) -> String?)
    /// The owner of what there is one of among all servers, by its name, from the start on.
    case singleton(String)
}
