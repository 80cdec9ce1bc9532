import Admission
import Conference
import Recording
import WebServer

/// The types of events in the OpenAPI document: its section `webhooks`, with an example of each.
enum EventDescription {
    /// The path items by the types' names.
    static var webhooks: [String: JSONValue] {
        Dictionary(uniqueKeysWithValues: ServerEvent.examples.map { ($0.happening.kind.rawValue, item($0)) })
    }

    /// The schema of what all events have.
    static let schema = Schema.object(
        [
            "id": ["type": "string", "description": "The server's run and the sequence, joined by -."],
            "sequence": ["type": "integer", "description": "The position among the events since the server's start."],
            "type": Schema.choice(ServerEvent.Kind.allCases.map(\.rawValue) + ["reset"]), "timestamp": Schema.date,
            "room": Schema.orNull(Schema.string),
            "data": ["type": "object", "description": "As the section webhooks describes it for each type."],
        ], required: ["id", "sequence", "type", "timestamp", "room", "data"])

    static let meeting = Schema.object(
        [
            "id": Schema.string, "createdAt": Schema.date, "layout": Schema.string,
            "participants": ["type": "integer", "description": "How many were there when it happened."],
        ], required: ["id", "createdAt", "layout", "participants"])

    private static func item(_ event: ServerEvent) -> JSONValue {
        let data = event.happening.schema
        return [
            "post": [
                "tags": ["events"], "summary": .string(event.happening.kind.summary), "parameters": headers,
                "requestBody": [
                    "content": [
                        "application/json": [
                            "schema": [
                                "allOf": [Schema.ref("Event"), Schema.object(["data": data], required: ["data"])]
                            ],
                            "example": event.json("k3v7m2xq"),
                        ]
                    ]
                ],
                "responses": [
                    "2XX": ["description": "Taken: the next event may come."],
                    "410": ["description": "No more requests until the server's next start."],
                    "429": ["description": "The same event again, after `Retry-After`."],
                    "503": ["description": "The same event again, after `Retry-After`."],
                    "default": ["description": "The same event again, after 5 s, 30 s, 2 min, 10 min, then each hour."],
                ],
            ]
        ]
    }

    /// The headers of Standard Webhooks 1.0, with which the settings' `webhooks` get an event.
    private static let headers: JSONValue = .array(
        [
            ("webhook-id", "The event's id, the same at each attempt."),
            ("webhook-timestamp", "Seconds since 1970, of this attempt."),
            (
                "webhook-signature",
                "`v1,` and the HMAC-SHA256 of `ID.TIMESTAMP.BODY` in base64, for each secret; spaces between."
            ),
        ].map { name, description in
            [
                "name": .string(name), "in": "header", "required": true, "description": .string(description),
                "schema": Schema.string,
            ]
        })
}

extension ServerEvent.Kind {
    /// A sentence for the document.
    package var summary: String {
        switch self {
        case .roomStarted: "A room exists: somebody joins it, or the API made it"
        case .roomEnded: "A room has ended, after everyone has left it"
        case .roomMoved: "A room has come from another server of the cluster, where it has not ended"
        case .participantJoined: "Somebody has taken a seat in a room"
        case .participantUpdated:
            "Something about a participant has changed, but for who speaks: at most four times a second"
        case .participantLeft: "A participant or viewer is gone, for the reason"
        case .recordingStarted: "A recording runs"
        case .recordingPaused: "A recording is paused"
        case .recordingResumed: "A recording goes on"
        case .recordingFinished: "The file of a recording is complete"
        case .recordingFailed: "A recording has ended before it should; what was recorded is in its file"
        case .recordingRecovered: "A recording that a crash left open was repaired, as its state says"
        case .recordingDelivered: "recording.onFinished has taken a recording, to delivery.location"
        case .recordingDeliveryFailed:
            "A run of recording.onFinished has failed, as delivery.message says; delivery.state is failed where none follows"
        case .recordingRemoved:
            "A recording was removed by recording.keep (age), recording.maxBytes (size) or DELETE (request)"
        case .streamStarted: "A stream of a room to another server has been started"
        case .streamLive: "The other server takes a stream, for the first time or again"
        case .streamRetrying: "The connection of a stream is lost, or cannot be made yet, and is tried again"
        case .streamEnded: "A stream has ended in order"
        case .streamFailed: "A stream is over: its server was away for too long, or refuses it for good"
        case .inputStarted: "A source is about to be pulled into a room, as a participant of its own"
        case .inputLive: "The source of an input is open, and is played"
        case .inputRetrying: "The source of an input is lost, for the reason, and is tried again"
        case .inputFailed: "The source of an input is not tried again, for the reason; its participant leaves"
        case .inputEnded: "The source of an input came to its end, or the input was taken away"
        case .overloadChanged: "The server saves work at another level than before: 0 none, 4 new rooms are refused"
        case .breakoutOpened: "Everybody was moved to the room's breakout groups"
        case .breakoutChanged: "Breakout groups were made, or their names, people, time or recordings have changed"
        case .breakoutEnding: "Everybody was called back from the breakout groups, and the countdown runs"
        case .breakoutClosed: "Everybody is back, and the breakout groups are gone"
        case .speakerChanged: "Another participant speaks, or nobody (null); only where asked for"
        case .layoutChanged: "What everyone sees in one of the room's views has another layout; only where asked for"
        case .chat: "A public message of the chat; only where asked for"
        }
    }
}

extension ServerEvent.Happening {
    fileprivate var schema: JSONValue {
        let reason = Schema.object(
            ["reason": Schema.choice(LeaveReason.allCases.map(\.rawValue))], required: ["reason"])
        return switch self {
        case .roomStarted, .roomMoved: Schema.ref("Meeting")
        case .roomEnded: ["allOf": [Schema.ref("Meeting"), reason]]
        case .participantJoined, .participantUpdated: Schema.ref("Participant")
        case .participantLeft: ["allOf": [Schema.ref("Participant"), reason]]
        case .recordingStarted, .recordingPaused, .recordingResumed, .recordingFinished, .recordingFailed,
            .recordingRecovered, .recordingDelivered, .recordingDeliveryFailed:
            Schema.ref("Recording")
        case .recordingRemoved:
            [
                "allOf": [
                    Schema.ref("Recording"),
                    Schema.object(
                        ["reason": Schema.choice(RecordingRetention.Reason.allCases.map(\.rawValue))],
                        required: ["reason"]),
                ]
            ]
        case .streamStarted, .streamLive, .streamRetrying, .streamEnded, .streamFailed: Schema.ref("StreamOut")
        case .inputStarted, .inputLive, .inputRetrying, .inputFailed, .inputEnded: Schema.ref("Input")
        case .overloadChanged:
            Schema.object(
                ["level": Schema.integer(0...4), "refusesRooms": Schema.boolean], required: ["level", "refusesRooms"])
        case .breakoutOpened, .breakoutChanged, .breakoutEnding: Schema.ref("Breakout")
        case .breakoutClosed: Schema.object([:])
        case .speakerChanged:
            Schema.object(["participant": Schema.orNull(Schema.string)], required: ["participant"])
        case .layoutChanged:
            Schema.object(["view": Schema.string, "layout": Schema.string], required: ["view", "layout"])
        case .chat:
            Schema.object(
                [
                    "id": Schema.string, "from": Schema.string, "name": Schema.string, "text": Schema.string,
                    "at": Schema.date,
                    "picture": Schema.object(
                        ["url": Schema.string, "type": Schema.string, "bytes": Schema.integer],
                        required: ["url", "type", "bytes"]),
                ], required: ["id", "from", "name", "text", "at"])
        }
    }
}
