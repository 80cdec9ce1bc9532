import Conference
import NIOCore

/// What the server says on `/signal`.
enum ServerMessage: Sendable, Equatable {
    /// How a client is told who is in its room.
    enum PeopleForm: String, Sendable {
        /// `participants` with everyone in it.
        case everyone
        /// `participants` with those that a `Roster` lists, and how many more there are.
        case roster
        /// `participantsChanged`: what is new since the announcement before.
        case change
    }

    /// `countsViewers`: the participants are listed as in `PeopleForm.roster`.
    case joined(Welcome, iceServers: [IceServers.Entry], countsViewers: Bool = false)
    case answer(sdp: String)
    /// What happened in the room. Its JSON is made once for all who are told.
    case event(SharedEvent, PeopleForm = .everyone)
    case left(LeaveReason)
    case error(code: String, message: String, fatal: Bool, retryAfter: Int? = nil)

    /// Which kind of state the message carries: a newer one says all that an older one did, which a slow reader need not get any more.
    var state: Outbox.State? {
        if case .event(let told, _) = self { told.event.state } else { nil }
    }

    /// What is said instead to a client that was not told the announcement before.
    var whole: ServerMessage? {
        if case .event(let told, .change) = self { .event(told, .roster) } else { nil }
    }

    /// One JSON object on one line.
    var bytes: ByteBuffer {
        guard case .event(let told, let form) = self else { return ByteBuffer(string: text) }
        return told.form(form.rawValue) { ByteBuffer(string: text) }
    }

    var text: String {
        let bytes =
            switch self {
            case .joined(let welcome, let iceServers, let countsViewers): try? JSON.encode(Joined(welcome, iceServers, countsViewers))
            case .answer(let sdp): try? JSON.encode(["type": "answer", "sdp": sdp])
            case .event(let told, let form): try? encode(told.event, form)
            case .left(let reason): try? JSON.encode(["type": "left", "reason": reason.rawValue])
            case .error(let code, let message, let fatal, let retryAfter):
                try? JSON.encode(Failure(code: code, message: message, fatal: fatal, retryAfter: retryAfter))
            }
        return String(decoding: bytes ?? [], as: UTF8.self)
    }

    private func encode(_ event: ParticipantEvent, _ form: PeopleForm) throws -> [UInt8] {
        switch event {
        case .participants(let update):
            switch form {
            case .everyone: try JSON.encode(Participants(update.everyone, viewers: nil))
            case .roster: try JSON.encode(Participants(update.roster.listed, viewers: update.roster.viewers))
            case .change: try JSON.encode(ParticipantsChanged(update.change))
            }
        case .tiles(let tiles): try JSON.encode(Tiles(TilesModel(tiles)))
        case .speaker(let id): try JSON.encode(["type": .string("speaker"), "participant": id.map { .string($0) } ?? JSONValue.null])
        case .layout(let name): try JSON.encode(["type": "layout", "name": name])
        case .recording(let recording): try JSON.encode(Recording(recording: recording.map { RecordingModel($0) }))
        case .chat(let chat): try JSON.encode(Chat(chat: ChatModel(chat)))
        case .line(let line): try JSON.encode(Self.line(line.json))
        case .role, .message, .connection, .left, .error: []
        }
    }

    private static func line(_ state: JSONValue) -> JSONValue {
        guard case .object(var members) = state else { return ["type": "line"] }
        members["type"] = "line"
        return .object(members)
    }

    private struct Joined: Encodable {
        let type = "joined"
        var room: String
        var you: Welcome.Identity
        var iceServers: [IceServers.Entry]
        var participants: [ParticipantModel]
        var viewers: Int?
        var layout: String
        @AlwaysPresent var recording: RecordingModel?

        init(_ welcome: Welcome, _ servers: [IceServers.Entry], _ countsViewers: Bool) {
            room = welcome.room
            you = welcome.you
            iceServers = servers
            let roster = countsViewers ? Roster(welcome.participants) : nil
            participants = (roster?.listed ?? welcome.participants).map { ParticipantModel($0) }
            viewers = roster?.viewers
            layout = welcome.layout
            _recording = AlwaysPresent(wrappedValue: welcome.recording)
        }
    }

    private struct Participants: Encodable {
        let type = "participants"
        var participants: [ParticipantModel]
        var viewers: Int?

        init(_ people: [ParticipantInfo], viewers: Int?) {
            participants = people.map { ParticipantModel($0) }
            self.viewers = viewers
        }
    }

    private struct ParticipantsChanged: Encodable {
        let type = "participantsChanged"
        var joined: [ParticipantModel]
        var changed: [ParticipantModel]
        var left: [String]
        var viewers: Int

        init(_ change: RosterChange) {
            joined = change.joined.map { ParticipantModel($0) }
            changed = change.changed.map { ParticipantModel($0) }
            left = change.left
            viewers = change.viewers
        }
    }

    private struct Tiles: Encodable {
        let type = "tiles"
        var width: Int
        var height: Int
        var tiles: [TileModel]

        init(_ model: TilesModel) { (width, height, tiles) = (model.width, model.height, model.tiles) }
    }

    private struct Recording: Encodable {
        let type = "recording"
        @AlwaysPresent var recording: RecordingModel?

        init(recording: RecordingModel?) { _recording = AlwaysPresent(wrappedValue: recording) }
    }

    private struct Chat: Encodable {
        let type = "chat"
        var chat: ChatModel

        private enum Keys: String, CodingKey { case type }

        func encode(to encoder: any Encoder) throws {
            try chat.encode(to: encoder)
            var members = encoder.container(keyedBy: Keys.self)
            try members.encode(type, forKey: .type)
        }
    }

    private struct Failure: Encodable {
        let type = "error"
        var code: String
        var message: String
        var fatal: Bool
        /// Seconds.
        var retryAfter: Int?
    }
}

extension ParticipantEvent {
    /// The kind of state that the event tells, for a client of `/signal`; nil: it tells that something happened.
    var state: Outbox.State? {
        switch self {
        case .participants: .participants
        case .tiles: .tiles
        case .speaker: .speaker
        case .layout: .layout
        case .recording: .recording
        case .line: .line
        case .role, .chat, .message, .connection, .left, .error: nil
        }
    }
}
