import Admission
import Hummingbird
import WebServer

/// The answer to plain HTTP requests at `/signal`.
extension RouteTable {
    package mutating func addSignalling() {
        let description = RouteDescription(
            tag: "doors",
            summary:
                "Native signalling over WebSocket: one JSON object per text frame. With deltas in join: ParticipantsChanged; of the chat: ChatMessage",
            answers: [.empty(101, "The connection is a WebSocket now.")], failures: [403, 426])
        add(
            Route(.get, "/signal", .endpoint, description) { _ in throw APIError.webSocketOnly })
    }
}
