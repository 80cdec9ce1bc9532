package import Admission
import Basics
package import Conference
package import NIOCore
import RoomMedia
package import WebServer

/// The server's message on `/signal`.
package enum ServerMessage: Sendable, Equatable {
    /// The form in which a client gets the participants of its room.
    package enum ParticipantsForm: String, Sendable {
        /// `participants` with all members.
        case everyone
        /// `participants` with the members that a `Roster` lists, and the number of others.
        case roster
        /// `participantsChanged` with the changes since the previous announcement.
        case change
    }

    /// `countsViewers`: the participants are listed as in `ParticipantsForm.roster`.
    case joined(Welcome, iceServers: [ICEServers.Entry], countsViewers: Bool = false)
    case answer(sdp: String)
    case pong
    /// The client has to be let in.
    case waiting
    /// An event of the room. Its JSON is encoded once for all receivers.
    case event(SharedEvent, ParticipantsForm = .everyone)
    /// What differs from the participants of `joined`.
    case changed(RosterChange)
    case left(LeaveReason)
    case error(Refusal, fatal: Bool)

    /// The kind of state that the message carries; a newer message of the same kind replaces an older one that still
    /// waits.
    package var state: Outbox.State? {
        switch self {
        case .event(let shared, _): shared.event.state
        case .changed: .participants
        default: nil
        }
    }

    /// The message for a client that did not get the previous announcement.
    package var fullState: ServerMessage? {
        if case .event(let shared, .change) = self { .event(shared, .roster) } else { nil }
    }

    /// Whether the bytes are those of a message that is long at a join, and may be compressed: the length of a compressed
    /// message tells something of a secret beside what others have written.
    ///
    /// A session description and the tiles have nothing that another participant has written. `joined` of a new seat has
    /// its secret, but tells it once, and once more after each move to another server, whose seat is new there: too seldom
    /// to compare lengths. A host's key and the secret of a seat that comes back are told again.
    package static func isCompressible(_ bytes: ByteBuffer) -> Bool {
        let view = bytes.readableBytesView
        if view.starts(with: #"{"sdp":"#.utf8) || view.starts(with: #"{"height":"#.utf8) { return true }
        guard view.starts(with: #"{"chat":["#.utf8) || view.starts(with: #"{"breakout":{"#.utf8) else { return false }
        // A quote within a text has a backslash before it, so that no name looks like a member.
        return view.contains(#","fresh":true,"#.utf8) && view.contains(#","type":"joined","#.utf8)
            && !view.contains(#""hostKey":"#.utf8)
    }

    /// One JSON object on one line.
    package var bytes: ByteBuffer {
        guard case .event(let shared, let form) = self else { return ByteBuffer(bytes: json.bytes) }
        return shared.form(form.rawValue) { ByteBuffer(bytes: json.bytes) }
    }

    package var json: JSONValue {
        switch self {
        case .joined(let welcome, let iceServers, let countsViewers):
            welcome.json(iceServers, countsViewers: countsViewers)
        case .waiting: ["type": "waiting"]
        case .pong: ["type": "pong"]
        case .answer(let sdp): ["type": "answer", "sdp": .string(sdp)]
        case .event(let shared, let form): shared.event.json(form)
        case .changed(let change): change.message
        case .left(let reason): ["type": "left", "reason": .string(reason.rawValue)]
        case .error(let error, let isFatal):
            .object(
                [
                    "type": "error", "code": .string(error.code.signalled.rawValue), "message": .string(error.message),
                    "fatal": .bool(isFatal),
                ],
                where: [
                    "retryAfter": error.retryAfter.map { .integer($0) }, "about": error.subject.map { .string($0) },
                ])
        }
    }
}

/// The data of `joined`.
package struct Welcome: Sendable, Equatable {
    var room: String
    var id: String
    var name: String
    var role: Role
    var resumeSecret: String
    /// The key by which the client is a host of the room when it comes back; nil: it is none.
    var hostKey: String?
    var participants: [ParticipantInfo]
    var shown: ShownLayout
    /// The names of the room's views.
    var views: [String] = [ViewSettings.main]
    var recording: RecordingInfo?
    /// All that run or are paused.
    var recordings: [RecordingInfo] = []
    /// Whether the room is streamed to another server.
    var isStreamed = false
    var access = RoomAccess()
    /// No recording runs yet, but this join starts one.
    var willRecord = false
    /// The time that a recording would begin before its start.
    var preRoll: Duration = .zero
    /// The seat has no media yet: it is a new one, or this server knew only its ticket.
    var isFresh = false
    /// The latest public messages of the chat, the oldest first.
    var chat: [ChatMessage] = []
    /// nil: there are no breakout groups.
    var breakout: BreakoutNotice?

    fileprivate func json(_ iceServers: [ICEServers.Entry], countsViewers: Bool) -> JSONValue {
        let roster = countsViewers ? Roster(participants) : nil
        return .object(
            [
                "type": "joined", "room": .string(room),
                "you": .object(
                    [
                        "id": .string(id), "name": .string(name), "role": .string(role.rawValue),
                        "resume": ["id": .string(id), "secret": .string(resumeSecret)],
                    ], where: ["hostKey": hostKey.map { .string($0) }]),
                "iceServers": .array(iceServers.map(\.json)),
                "participants": .array((roster?.listed ?? participants).map(\.json)),
                "layout": .string(shown.name), "view": .string(shown.view), "scope": .string(shown.scope.rawValue),
                "pin": .array(shown.pins.map { .string($0) }), "views": .array(views.map { .string($0) }),
                "recording": recording?.json ?? .null, "recordings": .array(recordings.map(\.json)),
                "streaming": .bool(isStreamed), "chat": .array(chat.map(\.message)),
                "settings": .object(access.members),
            ],
            where: [
                "viewers": roster.map { .integer($0.viewers) }, "willRecord": willRecord ? true : nil,
                "preRoll": preRoll > .zero ? .number(preRoll.inSeconds) : nil, "fresh": isFresh ? true : nil,
                "breakout": breakout?.message,
            ])
    }
}

extension Welcome {
    /// - Parameter request: the join's request; nil for a resumed seat.
    init(_ seat: any ConferenceSeat, _ request: AdmittedJoin?) {
        let info = seat.info
        // Before `recording`: whatever starts in between is in one of the two.
        let willRecord = seat.startsRecording
        let running = seat.runningRecordings
        self.init(
            room: seat.room, id: seat.id, name: info?.name ?? request?.name ?? "",
            role: info?.role ?? request?.role ?? .participant,
            resumeSecret: seat.resumeSecret, hostKey: seat.hostKey, participants: seat.participants, shown: seat.shown,
            views: seat.views,
            recording: running.shown, recordings: running, isStreamed: seat.isStreamed, access: seat.access,
            willRecord: willRecord, preRoll: seat.preRoll, isFresh: !seat.hasMedia,
            chat: seat.chatHistory, breakout: seat.breakout)
    }
}

extension Outbox.State {
    package static let participants = Self(name: "participants")
    package static let tiles = Self(name: "tiles")
    package static let speaker = Self(name: "speaker")
    package static let layout = Self(name: "layout")
    package static let recording = Self(name: "recording")
    package static let streaming = Self(name: "streaming")
    package static let link = Self(name: "line")
    package static let role = Self(name: "role")
    package static let access = Self(name: "room")
    package static let waiting = Self(name: "waiting")
    package static let breakout = Self(name: "breakout")
}

extension ParticipantEvent {
    /// The kind of state that the event reports to clients of `/signal`; nil: the event reports an occurrence.
    package var state: Outbox.State? {
        switch self {
        case .participants: .participants
        case .tiles: .tiles
        case .speaker: .speaker
        case .layout: .layout
        case .recording: .recording
        case .streaming: .streaming
        case .link: .link
        case .role: .role
        case .access: .access
        case .breakout: .breakout
        case .waiting: .waiting
        case .chat, .connection, .left, .error, .muted, .keptMuted, .asked, .moving, .pinTries: nil
        }
    }

    fileprivate func json(_ form: ServerMessage.ParticipantsForm) -> JSONValue {
        switch self {
        case .participants(let update):
            switch form {
            case .everyone: ["type": "participants", "participants": .array(update.everyone.map(\.json))]
            case .roster:
                [
                    "type": "participants", "participants": .array(update.roster.listed.map(\.json)),
                    "viewers": .integer(update.roster.viewers),
                ]
            case .change: update.change.message
            }
        case .tiles(let tiles):
            [
                "type": "tiles", "width": .integer(tiles.width), "height": .integer(tiles.height),
                "tiles": .array(tiles.tiles.map(\.json)),
            ]
        case .speaker(let id): ["type": "speaker", "participant": id.map { .string($0) } ?? .null]
        case .layout(let shown, let chooser):
            .object(
                [
                    "type": "layout", "name": .string(shown.name), "view": .string(shown.view),
                    "scope": .string(shown.scope.rawValue), "pin": .array(shown.pins.map { .string($0) }),
                ], where: ["by": chooser.map { .string($0) }])
        case .recording(let recording, let all):
            ["type": "recording", "recording": recording?.json ?? .null, "recordings": .array(all.map(\.json))]
        case .streaming(let isStreamed): ["type": "streaming", "streaming": .bool(isStreamed)]
        case .chat(let chat): chat.message
        case .role(let role, let hostKey):
            .object(
                ["type": "role", "role": .string(role.rawValue)],
                where: ["hostKey": hostKey.map { .string($0) }])
        case .access(let access): .object(access.members.merging(["type": "room"]) { first, _ in first })
        case .breakout(let notice): notice.message
        case .waiting(let people): ["type": "waiting", "people": .array(people.map(\.json))]
        case .pinTries(let wrong): ["type": "pinTries", "wrong": .integer(wrong)]
        case .muted(let id): ["type": "muted", "by": .string(id)]
        case .keptMuted(let reason): ["type": "muted", "reason": .string(reason.rawValue)]
        case .asked(let wish, let id): ["type": "asked", "action": .string(wish.rawValue), "by": .string(id)]
        case .link(let link): link.message
        case .moving(let limit): ["type": "moving", "within": .number(limit.inSeconds)]
        // The session sends other messages for these, or none.
        case .connection, .left, .error: [:]
        }
    }
}

extension LinkState {
    /// A `line` message.
    fileprivate var message: JSONValue {
        let line: JSONValue = [
            "type": "line", "estimate": .integer(estimate.bitsPerSecond), "sent": .integer(sent.bitsPerSecond),
            "received": .integer(received.bitsPerSecond), "lossDown": .number(lossDown), "lossUp": .number(lossUp),
            "roundTripMs": .number(roundTrip.inMilliseconds), "rung": .integer(rung),
            "reason": .string(reason.sentence), "reasonCode": .string(reason.code.rawValue),
            "mode": .string(mode.rawValue), "heard": .string(heard.rawValue), "seen": .string(seen.rawValue),
            "asked": .integer(asked.bitsPerSecond),
        ]
        return isForwarded ? line.with("forwarded", true) : line
    }
}

extension RosterChange {
    fileprivate var message: JSONValue {
        [
            "type": "participantsChanged", "joined": .array(joined.map(\.json)), "changed": .array(changed.map(\.json)),
            "left": .array(left.map { .string($0) }), "viewers": .integer(viewers),
        ]
    }
}

extension ChatMessage {
    /// A `chat` message, by itself and in `joined.chat`.
    fileprivate var message: JSONValue { json.with("type", "chat") }
}
