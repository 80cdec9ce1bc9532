import Admission
import HTTPTypes
import Hummingbird
import WebServer

/// The routes of AppRTC's room server and of its signalling server. Unlike the originals they do not answer pages of
/// every origin: any page that somebody in a private network visits could join the rooms of a server there.
extension RouteTable {
    mutating func addAppRTC(_ endpoint: AppRTCEndpoint) {
        let result = Schema.object(["result": Schema.string, "params": ["type": "object"]], required: ["result"])
        let switches: [RouteDescription.Parameter] = [
            .query("it", "`relay`: the client uses TURN only."),
            .query("tt", "`udp` or `tcp`: the transport of the TURN servers to use."),
            .query("audio", "`false`: no audio."), .query("video", "`false`: no video."),
        ]
        let message: (type: String, schema: JSONValue) = (
            "text/plain", ["type": "string", "description": "A signalling message of AppRTC, as JSON"]
        )
        add(.get, "/params", "The parameters of AppRTC calls", switches, answer: Schema.object([:])) { asked in
            endpoint.parameters(asked)
        }
        add(
            .post, "/join/{room}", "AppRTC: joins a room",
            [.query("name", "The name to show."), .query("token", "In mode `token`: the token.")] + switches,
            answer: result, placement: .appRTCRoom(.creates)
        ) { asked in await endpoint.join(asked) }
        let atRoom = Placement.appRTCRoom(.reads)
        add(
            .post, "/message/{room}/{client}", "AppRTC: an offer, a candidate, or bye", body: message, answer: result,
            placement: atRoom
        ) { asked in await endpoint.message(asked) }
        add(.post, "/leave/{room}/{client}", "AppRTC: ends the call", placement: atRoom) { asked in
            endpoint.leave(asked)
        }
        add(
            .post, "/v1alpha/iceconfig", "AppRTC: the STUN and TURN servers",
            [
                .query("key", "The key in the `ice_server_url` of a join."),
                .query("token", "In mode `token`, without a key: a token for `room`."), .query("room", "A room."),
            ], answer: Schema.object([:]), placement: .roomInQuery("room")
        ) { asked in await endpoint.iceServers(asked) }
        add(
            .post, "/collider/{room}/{client}", "AppRTC: a message, without the WebSocket", body: message,
            placement: atRoom
        ) { asked in await endpoint.post(asked) }
        add(.delete, "/collider/{room}/{client}", "AppRTC: ends the call", placement: atRoom) { asked in
            endpoint.delete(asked)
        }
        add(
            Route(
                .get, "/ws", .endpoint,
                RouteDescription(
                    tag: "doors", summary: "AppRTC's signalling over WebSocket",
                    answers: [.empty(101, "The connection is a WebSocket now.")], failures: [426])
            ) { _ in throw APIError.webSocketOnly })
    }

    /// Adds a route whose answer has status 200 whatever happens, as AppRTC's has.
    ///
    /// - Parameter answer: the schema of the JSON answer; nil: the answer is empty, or a word.
    private mutating func add(
        _ method: HTTPRequest.Method, _ path: String, _ summary: String,
        _ parameters: [RouteDescription.Parameter] = [], body: (type: String, schema: JSONValue)? = nil,
        answer: JSONValue? = nil, placement: Placement = .here, handler: @escaping Route.Handler
    ) {
        let description = RouteDescription(
            tag: "doors", summary: summary, parameters: parameters, body: body,
            answers: answer.map { [.json("The result; errors too.", $0)] }
                ?? [
                    .empty(200, "Done."),
                    .file(500, "Refused, as AppRTC's servers do: the text says why.", "text/plain"),
                ])
        add(
            Route(
                method, path, .endpoint, description, appOrigins: AppRTCEndpoint.appOrigins, placement: placement,
                handler: handler))
    }
}

extension Placement {
    /// The owner of the room that a path of AppRTC names, which may have the room's PIN in it.
    static func appRTCRoom(_ need: OwnerNeed) -> Placement {
        .owner(OwnerKey { AppRTCRoomName($0.parameter("room")).room }, need)
    }
}
