/// What the server says on `/signal`.
enum ServerMessage: Sendable, Equatable {
    case joined(Welcome, iceServers: [IceServers.Entry])
    case answer(sdp: String)
    case participants([ParticipantModel])
    case tiles(TilesModel)
    case speaker(String?)
    case layout(String)
    case recording(RecordingModel?)
    case chat(ChatModel)
    case line(JSONValue)
    case left(reason: String)
    case error(code: String, message: String, fatal: Bool, retryAfter: Int? = nil)

    /// Which kind of state the message carries whole: a newer one says all that an older one did, which a slow reader need not get any more.
    var state: Outbox.State? {
        switch self {
        case .participants: .participants
        case .tiles: .tiles
        case .speaker: .speaker
        case .layout: .layout
        case .recording: .recording
        case .line: .line
        case .joined, .answer, .chat, .left, .error: nil
        }
    }

    /// Whether all who sit in a room are told the same.
    var isForMany: Bool {
        switch self {
        case .participants, .tiles, .speaker, .recording, .chat: true
        case .joined, .answer, .layout, .line, .left, .error: false
        }
    }

    /// One JSON object on one line.
    var text: String {
        let bytes =
            switch self {
            case .joined(let welcome, let iceServers): try? JSON.encode(Joined(welcome, iceServers))
            case .answer(let sdp): try? JSON.encode(["type": "answer", "sdp": sdp])
            case .participants(let list): try? JSON.encode(Participants(participants: list))
            case .tiles(let tiles): try? JSON.encode(Tiles(width: tiles.width, height: tiles.height, tiles: tiles.tiles))
            case .speaker(let id): try? JSON.encode(["type": .string("speaker"), "participant": id.map { .string($0) } ?? JSONValue.null])
            case .layout(let name): try? JSON.encode(["type": "layout", "name": name])
            case .recording(let recording): try? JSON.encode(Recording(recording: recording))
            case .chat(let chat): try? JSON.encode(Chat(chat))
            case .line(let state): try? JSON.encode(line(state))
            case .left(let reason): try? JSON.encode(["type": "left", "reason": reason])
            case .error(let code, let message, let fatal, let retryAfter):
                try? JSON.encode(Failure(code: code, message: message, fatal: fatal, retryAfter: retryAfter))
            }
        return String(decoding: bytes ?? [], as: UTF8.self)
    }

    private func line(_ state: JSONValue) -> JSONValue {
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
        var layout: String
        @AlwaysPresent var recording: RecordingModel?

        init(_ welcome: Welcome, _ servers: [IceServers.Entry]) {
            room = welcome.room
            you = welcome.you
            iceServers = servers
            participants = welcome.participants
            layout = welcome.layout
            _recording = AlwaysPresent(wrappedValue: welcome.recording)
        }
    }

    private struct Participants: Encodable {
        let type = "participants"
        var participants: [ParticipantModel]
    }

    private struct Tiles: Encodable {
        let type = "tiles"
        var width: Int
        var height: Int
        var tiles: [TileModel]
    }

    private struct Recording: Encodable {
        let type = "recording"
        @AlwaysPresent var recording: RecordingModel?

        init(recording: RecordingModel?) { _recording = AlwaysPresent(wrappedValue: recording) }
    }

    private struct Chat: Encodable {
        let type = "chat"
        var chat: ChatModel

        init(_ chat: ChatModel) { self.chat = chat }

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
