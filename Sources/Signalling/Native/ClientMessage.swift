package import Admission
package import Conference
package import WebServer

/// A client's message on `/signal`.
package enum ClientMessage: Sendable, Equatable {
    case join(Join)
    case offer(sdp: String)
    /// nil is the end of candidates.
    case candidate(String?)
    case state(State)
    case layout(Layout)
    /// The name of the view that the client wants to see.
    case view(String)
    case present(on: Bool, audio: Bool)
    /// Whether the client wants to be recorded.
    case recorded(Bool)
    case chat(Chat)
    /// The id of the recording; nil: the one that is shown.
    /// `group`: of the breakout group to record; nil: the client's own.
    case record(Participant.RecordAction, id: String? = nil, group: Int? = nil)
    case mark(String)
    case moderate(Moderation)
    case breakout(BreakoutRequest)
    case room(RoomSettingsChange)
    /// The client doubts that the server is there, and wants any answer.
    case ping
    /// `returns`: the page is closed, perhaps to be loaded again.
    case leave(returns: Bool = false)

    package struct Join: Decodable, Sendable, Equatable {
        package var room: String
        package var name: String
        package var token: String?
        package var pin: String?
        /// The key by which a host comes back.
        package var hostKey: String?
        /// What the client's browser calls itself, for guest links with a number of guests.
        package var visit: String?
        /// Whether the client may become the moderator by being first; nil: it may.
        package var host: Bool?
        package var role: Role?
        package var layout: String?
        package var view: String?
        /// Whether the client wants to be recorded; nil: it says nothing against it.
        package var recorded: Bool?
        package var resume: ResumeClaim?
        /// Whether the client wants changes of the list of participants instead of whole lists.
        var deltas: Bool
        /// See `JoinRequest.drawsSigns`.
        var drawsSigns: Bool
        /// The client's first offer, which is answered before `joined`.
        var offer: String?

        private enum Keys: String, CodingKey {
            case room, name, token, pin, hostKey, host, visit, role, layout, view, recorded, resume, deltas, drawsSigns,
                offer
        }

        package init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: Keys.self)
            resume = try members.decodeIfPresent(ResumeClaim.self, forKey: .resume)
            // With `resume`, room and name may be missing.
            room =
                try resume == nil
                ? members.decode(String.self, forKey: .room) : members.decodeIfPresent(String.self, forKey: .room) ?? ""
            room = Names.composed(room)
            name =
                try resume == nil
                ? members.decode(String.self, forKey: .name) : members.decodeIfPresent(String.self, forKey: .name) ?? ""
            token = try members.decodeIfPresent(String.self, forKey: .token)
            pin = try members.decodeIfPresent(String.self, forKey: .pin)
            hostKey = try members.decodeIfPresent(String.self, forKey: .hostKey)
            host = try members.decodeIfPresent(Bool.self, forKey: .host)
            visit = try members.decodeIfPresent(String.self, forKey: .visit)
            role = try members.decodeIfPresent(Role.self, forKey: .role)
            layout = try members.decodeIfPresent(String.self, forKey: .layout)
            view = try members.decodeIfPresent(String.self, forKey: .view)
            recorded = try members.decodeIfPresent(Bool.self, forKey: .recorded)
            deltas = try members.decodeIfPresent(Bool.self, forKey: .deltas) ?? false
            drawsSigns = try members.decodeIfPresent(Bool.self, forKey: .drawsSigns) ?? false
            offer = try members.decodeIfPresent(String.self, forKey: .offer)
        }
    }

    package struct State: Decodable, Sendable, Equatable {
        package var audio: Bool?
        package var video: Bool?
        package var hand: Bool?
    }

    package struct Layout: Decodable, Sendable, Equatable {
        package var name: String?
        package var scope: LayoutScope?
        package var pin: [String]?
    }

    package struct Chat: Decodable, Sendable, Equatable {
        var text: String
        var to: String?
        /// Whether it is to all breakout groups.
        var all: Bool?
    }

    private struct Kind: Decodable { var type: String }
    private struct Offer: Decodable { var sdp: String }
    private struct View: Decodable { var name: String }
    private struct Present: Decodable {
        var on: Bool
        var audio: Bool?
    }
    private struct Recorded: Decodable { var on: Bool }
    private struct Mark: Decodable { var text: String }
    private struct Leave: Decodable { var returns: Bool? }
    private struct Record: Decodable {
        var action: Participant.RecordAction
        var id: String?
        var group: Int?
    }

    /// An RTCIceCandidateInit, or only its candidate line.
    private struct Candidate: Decodable {
        var line: String?

        private enum Keys: String, CodingKey { case candidate }
        private struct Init: Decodable { var candidate: String? }

        init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: Keys.self)
            if try members.decodeNil(forKey: .candidate) { return }
            if let text = try? members.decode(String.self, forKey: .candidate) {
                line = text
            } else {
                line = try members.decode(Init.self, forKey: .candidate).candidate
            }
            // Browsers mark the end with an empty candidate.
            if line == "" { line = nil }
        }
    }

    /// The room that a message joins, or that its resume ticket names; nil for every other message. It reads a `join` as
    /// `parse` does, so that no message can join another room than the one by which its node was chosen.
    package static func room(joinedBy message: WebSocketConnection.Message) -> String? {
        guard case .text(let text) = message, text.utf8.count <= SignallingBudget.outsideBytes,
            case .join(let join)? = try? parse(text)
        else { return nil }
        if !join.room.isEmpty { return join.room }
        return join.resume.flatMap { NodeToken.room(inTicket: $0.secret) }
    }

    /// The join that a message is; nil for every other message.
    package static func join(in message: WebSocketConnection.Message) -> Join? {
        guard case .text(let text) = message, case .join(let join)? = try? parse(text) else { return nil }
        return join
    }

    /// A chat of 8192 bytes, each escaped with six (`\\u001f`), has 49 KiB; only offers are larger.
    static let maxBytesBesideOffers = 65_536

    package static let types = [
        "join", "offer", "candidate", "state", "layout", "view", "present", "recorded", "chat", "record", "mark",
        "moderate", "breakout", "room", "ping",
        "leave",
    ]

    /// - Throws: `bad_message` with a sentence about the fault.
    package static func parse(_ text: String) throws(Refusal) -> ClientMessage {
        let bytes = Array(text.utf8)
        // One pass over the text finds its type, then one decode follows.
        var type = try JSONOutline(bytes, .message).type ?? ""
        do {
            if type.isEmpty { type = try JSON.decode(Kind.self, from: bytes).type }
            guard type == "offer" || bytes.count <= maxBytesBesideOffers else {
                throw Refusal(.badMessage, "\(type.prefix(32)): at most \(maxBytesBesideOffers) bytes")
            }
            switch type {
            case "join": return .join(try JSON.decode(Join.self, from: bytes))
            case "offer": return .offer(sdp: try JSON.decode(Offer.self, from: bytes).sdp)
            case "candidate": return .candidate(try JSON.decode(Candidate.self, from: bytes).line)
            case "state": return .state(try JSON.decode(State.self, from: bytes))
            case "layout": return .layout(try JSON.decode(Layout.self, from: bytes))
            case "view": return .view(try JSON.decode(View.self, from: bytes).name)
            case "present":
                let present = try JSON.decode(Present.self, from: bytes)
                return .present(on: present.on, audio: present.audio ?? false)
            case "recorded": return .recorded(try JSON.decode(Recorded.self, from: bytes).on)
            case "chat": return .chat(try JSON.decode(Chat.self, from: bytes))
            case "record":
                let record = try JSON.decode(Record.self, from: bytes)
                return .record(record.action, id: record.id, group: record.group)
            case "mark": return .mark(try JSON.decode(Mark.self, from: bytes).text)
            case "moderate": return .moderate(try JSON.decode(ModerateMessage.self, from: bytes).moderation())
            case "breakout": return .breakout(try JSON.decode(BreakoutMessage.self, from: bytes).request())
            case "room": return .room(try JSON.decode(RoomMessage.self, from: bytes).change())
            case "ping": return .ping
            case "leave": return .leave(returns: try JSON.decode(Leave.self, from: bytes).returns ?? false)
            default: break
            }
        } catch let error as Refusal {
            throw error
        } catch {
            throw Refusal(.badMessage, (type.isEmpty ? "" : type + ": ") + JSON.explain(error))
        }
        throw Refusal(
            .badMessage, "there is no message type \(type.prefix(32)); allowed are \(types.joined(separator: ", "))")
    }
}
