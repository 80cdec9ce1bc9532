package import Admission
import Basics
import Conference
import Hummingbird
import Streaming
import WebServer

/// The routes of a room's streams to other servers.
extension RouteTable {
    package mutating func addStreams(_ streams: any ConferenceStreams) {
        let one = RouteDescription.Answer.json("The stream.", Schema.ref("StreamOut"))
        add(
            Route(
                .post, "/api/rooms/{room}/streams", .admin,
                RouteDescription(
                    tag: "streams", summary: "Streams a room to another server by RTMP, RTMPS or SRT",
                    body: ("application/json", Schema.ref("StreamWish")),
                    answers: [.json(201, "It connects in the background.", Schema.ref("StreamOut"))],
                    failures: [400, 404, 409, 413, 503])
            ) { asked in
                let body = try await asked.object(keys: ["url", "view", "keyframeInterval"])
                guard let url = try body.text("url") else {
                    throw APIError.badRequest("url: where to, such as rtmp://HOST/APP/KEY")
                }
                let interval = try body.number("keyframeInterval")
                // Beyond a year no number is a time any more.
                if let interval, !(0...31_536_000).contains(interval) {
                    throw APIError.badRequest("keyframeInterval: 0.5 to 10 seconds")
                }
                let request = StreamRequest(
                    url: url, view: try body.text("view"), keyframeInterval: interval.map { .seconds($0) })
                return .json(try streams.start(try asked.room(), request).json, status: .created)
            })
        add(
            Route(
                .get, "/api/rooms/{room}/streams", .admin,
                RouteDescription(
                    tag: "streams", summary: "The streams of a room that run, and the latest that are over",
                    answers: [.json("The list, the oldest first.", Schema.list(of: Schema.ref("StreamOut")))],
                    failures: [404])
            ) { asked in .json(.array(try streams.list(try asked.room()).map(\.json))) })
        add(
            Route(
                .get, "/api/rooms/{room}/streams/{id}", .admin,
                RouteDescription(tag: "streams", summary: "One stream", answers: [one], failures: [404])
            ) { asked in .json(try streams.stream(asked.parameter("id"), in: try asked.room()).json) })
        add(
            Route(
                .delete, "/api/rooms/{room}/streams/{id}", .admin,
                RouteDescription(
                    tag: "streams", summary: "Ends a stream; answers once its connection is closed, within 2 s",
                    answers: [.empty(204, "Ended.")], failures: [404])
            ) { asked in
                _ = try await streams.end(asked.parameter("id"), in: try asked.room())
                return Response(status: .noContent)
            })
    }
}

extension OpenAPI {
    static let streamSchemas: [String: JSONValue] = [
        "StreamOut": Schema.object(
            [
                "id": Schema.string, "room": Schema.string,
                "url": ["type": "string", "description": "Without user, password, key and secrets."],
                "view": Schema.string, "keyframeInterval": ["type": "number", "description": "Seconds."],
                "state": Schema.choice(StreamState.names), "startedAt": Schema.date,
                "since": [
                    "type": "string", "format": "date-time",
                    "description": "While retrying: when the connection was lost, or first could not be made.",
                ],
                "attempts": ["type": "integer", "description": "While retrying: the failed attempts since."],
                "reason": ["type": "string", "description": "Why it is retried, or has failed."],
                "bytes": ["type": "integer", "description": "Of media that the server took."],
                "dropped": ["type": "integer", "description": "Frames that a slow server or network lost."],
            ],
            required: ["id", "room", "url", "view", "keyframeInterval", "state", "startedAt", "bytes", "dropped"]),
        "StreamWish": Schema.object(
            [
                "url": [
                    "type": "string",
                    "description": "rtmp://HOST/APP/KEY, rtmps://… or srt://HOST:PORT?streamid=…&passphrase=…",
                ],
                "view": ["type": "string", "description": "The name of the view; main without it."],
                "keyframeInterval": [
                    "type": "number", "minimum": 0.5, "maximum": 10,
                    "description": "Seconds; without it streams.keyframeInterval.",
                ],
            ], required: ["url"]),
    ]
}
