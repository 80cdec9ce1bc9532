import Admission
import Basics
import Conference
import HTTPTypes
import Recording
import RoomMedia
import WebServer

/// The description of the API (OpenAPI 3.1), generated from the routes, so that it is complete.
enum OpenAPI {
    static func document(_ routes: [Route], version: String) -> JSONValue {
        var paths: [String: JSONValue] = [:]
        for route in routes {
            guard let description = route.description else { continue }
            var item: [String: JSONValue] = [:]
            if case .object(let known)? = paths[route.path] { item = known }
            item[route.method.rawValue.lowercased()] = operation(route, description)
            paths[route.path] = .object(item)
        }
        return [
            "openapi": "3.1.0",
            "info": [
                "title": "Tessera", "version": .string(version),
                "license": ["name": "Apache-2.0", "identifier": "Apache-2.0"],
                "description":
                    "Rooms, participants, recordings and layouts of a Tessera conference server, and its endpoints for WHIP and WHEP.",
            ],
            "paths": .object(paths), "webhooks": .object(EventDescription.webhooks),
            "components": [
                "schemas": .object(schemas.merging(streamSchemas) { first, _ in first }),
                "securitySchemes": [
                    "adminToken": [
                        "type": "http", "scheme": "bearer",
                        "description":
                            "auth.adminToken; without one, requests from loopback as localhost or 127.0.0.1, not through a proxy.",
                    ],
                    "recordingKey": [
                        "type": "http", "scheme": "bearer",
                        "description":
                            "`key` of a recording in GET /api/rooms/{room}/recordings, for the hosts of its meeting: reads, renames, shares and removes this one, for 90 days.",
                    ],
                    "roomToken": [
                        "type": "http", "scheme": "bearer", "bearerFormat": "JWT",
                        "description":
                            "In auth.mode token: HS256 with the claims room, exp and, if wanted, name, role, sub, nbf, iss, aud.",
                    ],
                ],
            ],
        ]
    }

    private static func operation(_ route: Route, _ description: RouteDescription) -> JSONValue {
        var parameters: [JSONValue] = route.path.split(separator: "/").filter { $0.first == "{" }.map { segment in
            [
                "name": .string(String(segment.dropFirst().dropLast())), "in": "path", "required": true,
                "schema": Schema.string,
            ]
        }
        parameters += description.parameters.map { parameter in
            [
                "name": .string(parameter.name), "in": .string(parameter.place),
                "description": .string(parameter.words), "schema": parameter.schema,
            ]
        }
        var answers: [String: JSONValue] = [:]
        for answer in description.answers {
            var entry: [String: JSONValue] = ["description": .string(answer.words)]
            if let type = answer.type, let schema = answer.schema {
                entry["content"] = .object([type: ["schema": schema]])
            }
            answers[String(answer.status)] = .object(entry)
        }
        var failures = description.failures
        if route.access != .everyone { failures += [429] }
        // A name that cannot be a room's.
        if route.path.hasPrefix("/api/rooms/{room}") || route.path.hasPrefix("/hls/{room}") { failures += [400] }
        switch route.access {
        case .everyone: break
        case .endpoint: failures += [403]
        default: failures += [401, 403]
        }
        if !route.isHealthCheck { failures += [421] }
        for status in Set(failures) {
            answers[String(status)] = [
                "description": .string(words(for: status)),
                "content": ["application/json": ["schema": Schema.ref("Error")]],
            ]
        }
        var operation: [String: JSONValue] = [
            "operationId": .string(identifier(route)), "tags": [.string(description.tag)],
            "summary": .string(description.summary),
            "responses": .object(answers),
        ]
        if !parameters.isEmpty { operation["parameters"] = .array(parameters) }
        if let body = description.body {
            operation["requestBody"] = ["required": true, "content": .object([body.type: ["schema": body.schema]])]
        }
        switch route.access {
        case .admin, .seat, .host: operation["security"] = [["adminToken": []]]
        case .reader, .insider, .guest: operation["security"] = [[:], ["adminToken": []], ["roomToken": []]]
        case .recordings, .recordingFile:
            operation["security"] = [[:], ["adminToken": []], ["recordingKey": []]]
        case .recordingKeeper: operation["security"] = [["adminToken": []], ["recordingKey": []]]
        default: break
        }
        return .object(operation)
    }

    /// `getApiRoomsRoom`
    private static func identifier(_ route: Route) -> String {
        let words = route.path.split { !$0.isLetter && !$0.isNumber }
        return route.method.rawValue.lowercased() + words.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    }

    private static func words(for status: Int) -> String {
        switch status {
        case 400: "The request is wrong; the message says why."
        case 401: "A token is needed, or is not valid."
        case 403: "Not allowed."
        case 404: "The resource does not exist."
        case 406: "No answer would be acceptable."
        case 409:
            "The request conflicts with the present state: a locked room, a recording that runs already or not any more, a layout in use."
        case 412: "If-Match is not the session's ETag."
        case 413: "Too large."
        case 415: "Another Content-Type is needed."
        case 416: "No such range."
        case 421: "Called by a name that is not in http.hosts."
        case 422: "Well-formed but invalid; the message lists the faults."
        case 428: "If-Match is missing."
        case 429: "Too fast."
        case 503: "Draining, full, overloaded, or a stream without media yet; Retry-After has the time to wait."
        default: "Refused."
        }
    }

    /// Who may do something: everybody in the room, or presenters and moderators.
    private static let permissions = Schema.choice(RoomPolicy.Permission.allCases.map(\.rawValue))
    private static let guestRoles = Schema.choice(GuestLink.roles.map(\.rawValue))
    private static let admissions = Schema.choice(Admission.allCases.map(\.rawValue))
    private static let roles = Schema.choice(Role.allCases.map(\.rawValue))

    private static let schemas: [String: JSONValue] = [
        "Error": Schema.object(
            [
                "error": Schema.object(
                    ["code": Schema.choice(ErrorCode.allCases.map(\.rawValue)), "message": Schema.string],
                    required: ["code", "message"])
            ], required: ["error"]),
        "Event": EventDescription.schema, "Meeting": EventDescription.meeting, "Webhook": WebhookReport.schema,
        "RoomSummary": Schema.object(
            [
                "id": Schema.string, "participants": Schema.integer, "layout": Schema.string,
                "recording": Schema.orNull(Schema.ref("Recording")), "createdAt": Schema.date,
            ], required: ["id", "participants", "layout", "recording", "createdAt"]),
        "Room": Schema.object(
            [
                "id": Schema.string, "createdAt": Schema.date, "layout": Schema.string, "onPresent": Schema.string,
                "width": Schema.integer,
                "height": Schema.integer,
                "framesPerSecond": Schema.integer, "locked": Schema.boolean, "layoutLocked": Schema.boolean,
                "admit": admissions,
                "pin": ["type": "boolean", "description": "Whether the room asks for a PIN."],
                "hostKey": [
                    "type": "boolean",
                    "description": "Whether there are keys of hosts, whose holders moderate the room.",
                ],
                "muteOnEntry": Schema.boolean, "share": permissions, "chat": permissions, "unmute": permissions,
                "maxParticipants": Schema.integer, "maxViewers": Schema.integer, "hls": Schema.boolean,
                "people": ["type": "integer", "description": "The number of participants and viewers."],
                "waiting": ["type": "integer", "description": "The number of those who wait to be let in."],
                "participants": Schema.list(of: Schema.ref("Participant")),
                "tiles": Schema.list(of: Schema.ref("Tile")),
                "renditions": Schema.list(of: Schema.ref("Rendition")),
                "views": Schema.list(of: Schema.ref("View")),
                "recording": Schema.orNull(Schema.ref("Recording")),
                "recordings": Schema.list(of: Schema.ref("Recording")),
                "streaming": ["type": "boolean", "description": "Whether the room is streamed to another server."],
                "preRoll": [
                    "type": "number",
                    "description": "The seconds that are kept now, and with which a recording would begin; 0: none.",
                ],
            ],
            required: [
                "id", "createdAt", "layout", "width", "height", "participants", "tiles", "views", "renditions",
                "recording",
            ]),
        // The named views of a room, and the choices that participants have made for themselves.
        "View": Schema.object(
            [
                "name": Schema.string, "layout": Schema.string,
                "scope": Schema.choice(LayoutScope.allCases.map(\.rawValue)),
                "pin": Schema.list(of: Schema.string), "width": Schema.integer, "height": Schema.integer,
                "framesPerSecond": Schema.integer,
                "names": [
                    "type": "boolean", "description": "Whether tiles show names; without it as the layout says.",
                ],
                "participants": ["type": "integer", "description": "The number of participants that get it."],
                "recorded": Schema.boolean,
            ],
            required: [
                "name", "layout", "scope", "width", "height", "framesPerSecond", "participants", "recorded",
            ]),
        "ViewSettings": Schema.object([
            "layout": Schema.string, "width": Schema.integer(ViewSettings.side),
            "height": Schema.integer(ViewSettings.side),
            "framesPerSecond": Schema.integer(RoomSettings.allowed.framesPerSecond), "names": Schema.boolean,
            "renditions": Schema.list(
                of: Schema.object(
                    [
                        "height": Schema.integer(RoomSettings.allowed.height),
                        "bitrate": Schema.integer(
                            ViewSettings.rate.lowerBound.bitsPerSecond...ViewSettings.rate.upperBound.bitsPerSecond),
                        "framesPerSecond": Schema.integer(RoomSettings.allowed.framesPerSecond),
                    ], required: ["height", "bitrate"])),
        ]),
        "RoomSettings": Schema.object([
            "layout": Schema.string, "onPresent": Schema.string,
            "width": Schema.integer(RoomSettings.allowed.width),
            "height": Schema.integer(RoomSettings.allowed.height),
            "framesPerSecond": Schema.integer(RoomSettings.allowed.framesPerSecond), "locked": Schema.boolean,
            "layoutLocked": Schema.boolean, "admit": admissions,
            "pin": ["type": "string", "description": .string("\(RoomPIN.rule); empty: none. No answer has it.")],
            "hostKey": [
                "type": "string",
                "description": .string(
                    "\(HostKey.rule): who joins with it is the host, and nobody else by being first; empty: as before. No answer has it."
                ),
            ],
            "muteOnEntry": [
                "type": "boolean", "description": "Whether new participants come in with the audio off.",
            ],
            "share": permissions, "chat": permissions, "unmute": permissions,
            "maxParticipants": Schema.integer(RoomSettings.allowed.maxParticipants),
            "maxViewers": Schema.integer(RoomSettings.allowed.maxViewers),
            "hls": [
                "type": "boolean",
                "description":
                    "Whether players of HLS may watch: /hls/{room}/index.m3u8 while somebody is in the room.",
            ],
            "views": [
                "type": "object", "description": "Named views to add or replace; null removes one.",
                "additionalProperties": Schema.orNull(Schema.ref("ViewSettings")),
            ],
        ]),
        "GuestLink": Schema.object(
            [
                "id": Schema.string, "role": guestRoles, "expiresAt": Schema.date,
                "uses": ["type": "integer", "description": "The most guests; missing: any number."],
                "used": ["type": "integer", "description": "The guests so far."],
                "url": [
                    "type": "string",
                    "description":
                        "The link; missing in mode open once the server has been started again, which keeps a digest only.",
                ],
            ], required: ["id", "role", "expiresAt", "used"]),
        "GuestLinkRequest": Schema.object([
            "role": guestRoles,
            "expiresIn": [
                "type": "number", "description": .string("Seconds, 60 to \(Int(GuestLink.longest)); 86400 without."),
            ], "uses": Schema.integer(GuestLink.allowedUses),
        ]),
        "Participant": Schema.object(
            [
                "id": Schema.string, "name": Schema.string, "role": roles, "audio": Schema.boolean,
                "video": Schema.boolean,
                "hand": Schema.boolean,
                "handOrder": [
                    "type": "integer",
                    "description": "Ascending in the order in which hands were raised; missing without.",
                ], "speaking": Schema.boolean, "presenting": Schema.boolean,
                "audioMuted": Schema.boolean,
                "videoMuted": Schema.boolean, "pinned": Schema.boolean, "volume": Schema.number,
                "recorded": Schema.boolean,
                "unrecordedBy": Schema.list(of: Schema.choice(RecordingRefusal.allCases.map(\.rawValue))),
                "input": [
                    "type": "boolean", "description": "True for a source that the server pulls; missing for people.",
                ],
                "missing": [
                    "type": "array", "items": Schema.choice(["audio", "video"]),
                    "description":
                        "What the participant says to send and the server has not received for four seconds; missing where nothing is.",
                ],
                "group": [
                    "type": "integer",
                    "description": "The number of the breakout group that it is in; missing for the room itself.",
                ],
            ], required: ["id", "name", "role", "audio", "video", "hand", "speaking", "presenting"]),
        "Input": Schema.object(
            [
                "id": Schema.string, "room": Schema.string,
                "participant": ["type": "string", "description": "The id of its participant."],
                "name": Schema.string,
                "url": ["type": "string", "description": "Without credentials and keys."], "loop": Schema.boolean,
                "state": Schema.choice(InputInfo.State.allCases.map(\.rawValue)),
                "since": ["type": "string", "format": "date-time", "description": "When the state began."],
                "attempts": ["type": "integer", "description": "In vain since it was live; with retrying."],
                "reason": ["type": "string", "description": "With retrying and failed."],
            ], required: ["id", "room", "participant", "name", "url", "loop", "state", "since"]),
        "InputRequest": Schema.object(
            [
                "url": [
                    "type": "string",
                    "description":
                        "An srt, rtmp, rtsp, http or https URL, or the path of a file below inputs.directory.",
                ], "name": ["type": "string", "description": "Of the participant."],
                "loop": ["type": "boolean", "description": "Whether a source with an end starts again there."],
            ], required: ["url", "name"]),
        "Breakout": Schema.object(
            [
                "state": Schema.choice(["none"] + BreakoutInfo.Phase.allCases.map(\.rawValue)).with(
                    "description",
                    "`planned`: prepared, with everybody in the room; `ending`: everybody was called back."),
                "mayChoose": ["type": "boolean", "description": "Whether participants choose their groups."],
                "endsIn": ["type": "number", "description": "The seconds until everybody is back; missing: no end."],
                "groups": Schema.list(
                    of: Schema.object(
                        [
                            "id": ["type": "integer", "description": "Its number, from 1 on."],
                            "name": Schema.string,
                            "people": ["type": "integer", "description": "How many are assigned to it."],
                            "participants": Schema.list(of: Schema.string),
                            "listeners": Schema.list(of: Schema.string).with(
                                "description", "The moderators who hear it from elsewhere."),
                            "recording": ["type": "string", "description": "The id of its recording."],
                        ], required: ["id", "name", "people", "listeners"])),
                "speakers": Schema.list(of: Schema.string).with(
                    "description", "The moderators whom all groups hear."),
            ], required: ["state", "mayChoose", "groups", "speakers"]),
        "BreakoutPlan": Schema.object(
            [
                "groups": [
                    "description": "How many, or their names.",
                    "oneOf": [
                        Schema.integer(BreakoutPlan.allowedGroups),
                        Schema.list(of: Schema.string).with(
                            "maxItems", .integer(BreakoutPlan.allowedGroups.upperBound)),
                    ],
                ],
                "mayChoose": Schema.boolean, "places": breakoutPlaces, "fill": breakoutFill,
                "open": ["type": "boolean", "description": "Whether everybody is moved at once."],
                "endsIn": breakoutEnd,
            ], required: ["groups"]),
        "BreakoutChange": Schema.object([
            "names": [
                "type": "object", "description": "Names by the numbers of groups.",
                "additionalProperties": Schema.string,
            ],
            "mayChoose": Schema.boolean, "places": breakoutPlaces, "fill": breakoutFill,
            "open": ["type": "boolean", "description": "Whether everybody is moved now."],
            "endsIn": breakoutEnd,
            "countdown": [
                "type": "number",
                "description":
                    .string(
                        "Calls everybody back in so many seconds, 0 to \(Int(BreakoutPlan.allowedCountdown.upperBound.inSeconds))."
                    ),
            ],
        ]),
        "WaitingPerson": Schema.object(["id": Schema.string, "name": Schema.string], required: ["id", "name"]),
        "WaitingDecision": Schema.object(
            [
                "decision": [
                    "type": "string", "enum": .array(WaitingDecision.allCases.map { .string($0.rawValue) }),
                    "description":
                        "refuseAddress refuses all who wait at the network address of this one (of IPv6 its /48), and for ten minutes whoever asks from there.",
                ]
            ], required: ["decision"]),
        "ParticipantChange": Schema.object([
            "audioMuted": Schema.boolean, "videoMuted": Schema.boolean, "pinned": Schema.boolean, "role": roles,
            "volume": [
                "type": "number", "minimum": .number(ParticipantChange.allowedVolume.lowerBound),
                "maximum": .number(ParticipantChange.allowedVolume.upperBound),
            ],
            "name": Schema.string,
            "recorded": [
                "type": "boolean",
                "description":
                    "Whether recordings and streams have the participant. 409 for true against the participant's own refusal or its token's.",
            ],
        ]),
        // A message of `/signal`, for clients with `"deltas": true` in `join`.
        "ParticipantsChanged": Schema.object(
            [
                "type": Schema.choice(["participantsChanged"]), "joined": Schema.list(of: Schema.ref("Participant")),
                "changed": Schema.list(of: Schema.ref("Participant")), "left": Schema.list(of: Schema.string),
                "viewers": ["type": "integer", "description": "The number of viewers that are not listed."],
            ], required: ["type", "joined", "changed", "left", "viewers"]),
        // A message of `/signal`, and of `chat` in `joined`.
        "ChatMessage": Schema.object(
            [
                "type": Schema.choice(["chat"]), "id": Schema.string, "from": Schema.string, "name": Schema.string,
                "to": ["type": "string", "description": "The only receiver; everyone without it."],
                "text": ["type": "string", "description": "Empty where there is a picture."],
                "picture": Schema.ref("ChatPicture"), "at": Schema.date,
            ], required: ["type", "id", "from", "name", "text", "at"]),
        "ChatPicture": Schema.object(
            [
                "url": ["type": "string", "description": "The path at this server."],
                "type": Schema.choice(ChatPicture.Format.allCases.map(\.type)), "bytes": Schema.integer,
            ], required: ["url", "type", "bytes"]),
        "Tile": Schema.object(
            [
                "participant": Schema.string, "x": Schema.integer, "y": Schema.integer, "width": Schema.integer,
                "height": Schema.integer, "label": Schema.boolean, "signs": Schema.boolean,
                "source": Schema.choice(["screen"]),
            ], required: ["participant", "x", "y", "width", "height", "label"]),
        "Rendition": Schema.object([
            "view": Schema.string, "codec": Schema.string,
            "kind": Schema.choice(["rung", "screen", "stills", "joining", "forwarded"]),
            "width": Schema.integer, "height": Schema.integer, "framesPerSecond": Schema.integer,
            "bitrate": Schema.integer, "peers": Schema.integer,
            "outgoing": [
                "type": "boolean",
                "description":
                    "True: what leaves the room, without participants who are not recorded; absent otherwise.",
            ],
        ]),
        "Statistics": Schema.object([
            "connected": Schema.boolean, "transport": Schema.string, "roundTripMs": Schema.number,
            "estimate": Schema.integer,
            "rendition": Schema.string, "renditionReason": Schema.string,
            "renditionReasonCode": Schema.choice(LinkReason.Code.allCases.map(\.rawValue)),
            "audioDelayMs": Schema.number, "concealedMs": Schema.number,
            "freezes": Schema.integer, "audioVideoOffsetMs": Schema.number,
            "received": Schema.object([
                "audio": Schema.ref("Stream"), "video": Schema.ref("Stream"), "screen": Schema.ref("Stream"),
            ]),
            "sent": Schema.object(["audio": Schema.ref("Stream"), "video": Schema.ref("Stream")]),
            // Counts of what was refused of the participant.
            "refused": Schema.object(PeerFaults().named.mapValues { _ in Schema.integer }),
        ]),
        "Stream": Schema.object([
            "codec": Schema.string, "width": Schema.integer, "height": Schema.integer, "framesPerSecond": Schema.number,
            "frames": Schema.integer, "keyframes": Schema.integer, "packets": Schema.integer, "bytes": Schema.integer,
            "bitrate": Schema.integer, "packetsLost": Schema.integer, "loss": Schema.number, "jitterMs": Schema.number,
            "nacks": Schema.integer, "keyframeRequests": Schema.integer, "retransmitted": Schema.integer,
        ]),
        "Recording": Schema.object(
            [
                "id": Schema.string, "room": Schema.string,
                "file": ["type": "string", "description": "The file's name."],
                "state": Schema.choice(RecordingInfo.State.allCases.map(\.rawValue)), "startedAt": Schema.date,
                "endedAt": Schema.date.with("description", "When its last frame was taken; missing while it runs."),
                "endedBy": Schema.choice(RecordingEnd.allCases.map(\.rawValue)).with(
                    "description",
                    "`stopped` while the room went on; `room`: its end; `moved`: the next part is of another node; `lost`: a crash."
                ),
                "duration": ["type": "number", "description": "Seconds."], "bytes": Schema.integer,
                "parts": ["type": "integer", "description": "The number of files, where there are several."],
                "files": [
                    "type": "array",
                    "description":
                        "The complete files in order; ?part=1 reads the first. While the recording runs, those before the current one.",
                    "items": Schema.object(
                        ["file": Schema.string, "duration": Schema.number, "bytes": Schema.integer], required: ["file"]),
                ],
                "series": [
                    "type": "string",
                    "description":
                        "The id of the first recording of those that go on with each other, since the room was moved between servers; otherwise its own.",
                ],
                "seriesPart": ["type": "integer", "description": "The number in the series, from 2 on."],
                "preRoll": ["type": "number", "description": "The seconds before startedAt that it has too."],
                "title": ["type": "string", "description": "What somebody called it."],
                "repaired": [
                    "type": "boolean", "description": "A crash left the recording open, and the next start closed it.",
                ],
                "view": ["type": "string", "description": "The view whose picture it has."],
                "audioOnly": ["type": "boolean", "description": "The file has audio alone."],
                "group": Schema.object(["id": Schema.integer, "name": Schema.string], required: ["id", "name"]).with(
                    "description", "The breakout group that it is of; missing for the room itself."),
                "tracks": Schema.list(of: Schema.ref("RecordingTrack")),
                "error": ["type": "string", "description": "Why the recording failed, or ended early."],
                "dropped": Schema.object(
                    ["video": Schema.integer, "audio": Schema.integer], required: ["video", "audio"]
                ).with(
                    "description", "Frames, and blocks of audio, that a slow disk lost."),
                "frames": Schema.object(
                    [
                        "perSecond": Schema.number.with(
                            "description",
                            "The mean of the complete file; a picture that does not change has fewer."),
                        "wanted": Schema.number.with("description", "What the view has where there is time for it."),
                        "overloadedSeconds": Schema.number.with(
                            "description",
                            "Seconds in which the server was overloaded: half of the frames, or fewer."),
                    ], required: ["wanted", "overloadedSeconds"]),
                "delivery": Schema.ref("Delivery"),
            ], required: ["id", "file", "state"]),
        "RecordingTrack": Schema.object(
            [
                "participant": Schema.string, "name": Schema.string,
                "kind": Schema.choice(RecordingTrack.Kind.allCases.map(\.rawValue)),
                "file": ["type": "string", "description": "The file's name; ?track=1 reads the first of the list."],
                "codec": Schema.choice(["opus", "h264", "vp8", "av1"]),
                "rotation": ["type": "integer", "description": "Clockwise degrees for display; missing: none."],
                "start": ["type": "number", "description": "Where its time zero is in the recording, in seconds."],
                "duration": ["type": "number", "description": "Seconds; missing while it is written."],
                "bytes": Schema.integer,
            ], required: ["participant", "name", "kind", "file", "codec", "start"]),
        "RecordingRequest": Schema.object([
            "view": ["type": "string", "description": "A named view of the room; without it the recorded one."],
            "audioOnly": ["type": "boolean", "description": "A file with audio alone, without any picture."],
            "group": [
                "type": "integer",
                "description":
                    "The number of an open breakout group, which is recorded until it closes; without it the room itself.",
            ],
            "tracks": [
                "type": "boolean",
                "description":
                    "Whether each participant's audio, and unless audioOnly its pictures as received, are written beside it; without it as recording.tracks says.",
            ],
        ]),
        // Where `recording.onFinished` is set.
        "Delivery": Schema.object(
            [
                "state": Schema.choice(RecordingDelivery.State.allCases.map(\.rawValue)),
                "attempts": ["type": "integer", "description": "The number of runs that were begun."],
                "location": ["type": "string", "description": "The last line that the program wrote."],
                "message": ["type": "string", "description": "Why the latest run failed."],
            ], required: ["state", "attempts"]),
        // `Recording`, with a link.
        "MeetingRecording": [
            "allOf": [
                Schema.ref("Recording"),
                Schema.object([
                    "url": [
                        "type": "string",
                        "description":
                            "The path of the complete file, signed; &part=2 and so on open further parts. Missing while it is recorded.",
                    ],
                    "expiresAt": Schema.date,
                    "key": Schema.string.with(
                        "description",
                        "For the hosts of the meeting, and who started it: a bearer token that reads, renames, shares and removes this recording after the call."
                    ),
                    "keyExpiresAt": Schema.date,
                ]),
            ]
        ],
        "NodeDrain": Schema.object([
            "mode": Schema.choice(["move", "wait"]).with("description", "Without it that of cluster.drain.mode."),
            "within": Schema.number.with("description", "Seconds; without it those of cluster.drain.within."),
        ]),
        // One of both.
        "RecordingChange": Schema.object([
            "state": Schema.choice(["recording", "paused"]),
            "title": Schema.string.with("description", "At most 200 bytes on one line; empty: none."),
        ]),
        "Mark": Schema.object(["text": Schema.string], required: ["text"]),
        "Timeline": Schema.object(
            [
                "duration": Schema.number,
                "participants": Schema.list(
                    of: Schema.object([
                        "id": Schema.string, "name": Schema.string, "joined": Schema.number, "left": Schema.number,
                    ])),
                "speakers": Schema.list(
                    of: Schema.object([
                        "participant": Schema.string, "name": Schema.string, "start": Schema.number,
                        "end": Schema.number,
                    ])),
                "layouts": Schema.list(of: Schema.object(["at": Schema.number, "name": Schema.string])),
                "chapters": Schema.list(
                    of: Schema.object(["at": Schema.number, "title": Schema.string, "isMark": Schema.boolean])),
            ], required: ["duration", "participants", "speakers", "layouts", "chapters"]),
        "LinkWish": Schema.object(["seconds": Schema.integer(1...RecordingLinks.maxLife)]),
        "Link": Schema.object(["url": Schema.string, "expiresAt": Schema.date], required: ["url", "expiresAt"]),
        "Layout": Schema.object(
            [
                "name": Schema.string, "description": Schema.string,
                "descriptions": [
                    "type": "object", "description": "`description` in other languages, by their tags.",
                    "additionalProperties": Schema.string,
                ], "example": Schema.list(of: Schema.ref("Frame")),
            ], required: ["name", "description"]),
        "Frame": Schema.object(
            [
                "x": ["type": "number", "description": "Of the canvas' width, 0 to 1."],
                "y": ["type": "number", "description": "Of the canvas' height, 0 to 1."],
                "width": ["type": "number", "description": "As `x`."],
                "height": ["type": "number", "description": "As `y`."],
            ], required: ["x", "y", "width", "height"]),
    ]

    private static let breakoutPlaces: JSONValue = [
        "type": "object", "description": "The numbers of groups by the ids of participants; 0 is the room itself.",
        "additionalProperties": Schema.integer,
    ]
    private static let breakoutFill: JSONValue = [
        "type": "boolean",
        "description":
            "Whether those who are in no group, and are no moderators, are distributed evenly, in a random order.",
    ]
    private static let breakoutEnd: JSONValue = [
        "type": "number",
        "description":
            .string(
                "The seconds until everybody is back, 10 to \(Int(BreakoutPlan.allowedLength.upperBound.inSeconds)); null: as long as a moderator wants."
            ),
    ]
}
