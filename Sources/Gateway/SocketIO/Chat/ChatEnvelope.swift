import Conference
import FoundationEssentials

/// One message of FLSocketIM's `chat` event: `{"from_user","to_user","chat_type","sendtime","bodies":{"type",…}}`.
struct ChatEnvelope: Sendable, Equatable {
    enum Kind: String, Sendable {
        case text = "txt"
        case picture = "img"
        case audio
        case location = "loc"
    }

    /// The most bytes of the JSON, without the attachment.
    static let maxBytes = 32_768

    let from: String
    let to: String
    let kind: Kind
    /// The picture's or the recording's bytes.
    let file: BinaryMessage?
    /// The client's members, without `fileData`.
    private var members: [String: JSONValue]
    private var bodies: [String: JSONValue]

    /// nil for an argument that is no message.
    ///
    /// - Parameter user: the sender, whatever the message says.
    init?(_ argument: JSONValue, _ attachments: [BinaryMessage], from user: String) {
        guard case .object(var members) = argument, case .object(var bodies)? = members["bodies"],
            case .string(let to)? = members["to_user"], case .string(let type)? = bodies["type"],
            let kind = Kind(rawValue: type), (1...256).contains(to.utf8.count)
        else { return nil }
        file = bodies["fileData"].flatMap { ChatEnvelope.attachment($0, attachments) }
        bodies["fileData"] = nil
        guard file != nil || kind != .picture && kind != .audio else { return nil }
        members["bodies"] = nil
        members["from_user"] = .string(user)
        guard JSONValue.object(members).bytes.count + JSONValue.object(bodies).bytes.count <= ChatEnvelope.maxBytes
        else { return nil }
        (self.members, self.bodies, self.to, self.kind, from) = (members, bodies, to, kind, user)
    }

    /// A message of the server's own, from a room.
    init(from user: String, to other: String, text: String) {
        (from, to, kind, file) = (user, other, .text, nil)
        members = ChatEnvelope.members(user, other)
        bodies = ["type": "txt", "msg": .string(text)]
    }

    /// A picture from a room.
    init(from user: String, to other: String, picture: BinaryMessage, name: String) {
        (from, to, kind, file) = (user, other, .picture, picture)
        members = ChatEnvelope.members(user, other)
        bodies = ["type": "img", "fileName": .string(name)]
    }

    /// The same message of another sender to another recipient.
    func sent(from user: String, to other: String) -> ChatEnvelope {
        ChatEnvelope(
            from: user, to: other, kind: kind, file: file,
            members: members.merging(ChatEnvelope.members(user, other)) { _, last in last }, bodies: bodies)
    }

    private init(
        from: String, to: String, kind: Kind, file: BinaryMessage?, members: [String: JSONValue],
        bodies: [String: JSONValue]
    ) {
        (self.from, self.to, self.kind, self.file, self.members, self.bodies) = (from, to, kind, file, members, bodies)
    }

    /// Where a picture can be fetched, relative to the server's URL.
    static func path(_ picture: ChatPicture) -> String { "images/\(picture.id)" }

    private static func members(_ from: String, _ to: String) -> [String: JSONValue] {
        ["from_user": .string(from), "to_user": .string(to), "chat_type": "chat"]
    }

    private static func attachment(_ value: JSONValue, _ attachments: [BinaryMessage]) -> BinaryMessage? {
        guard value["_placeholder"] == .bool(true), case .integer(let number)? = value["num"],
            attachments.indices.contains(number)
        else { return nil }
        return attachments[number]
    }

    /// Adds what the server knows: the message's id and time, and where its file can be fetched.
    ///
    /// - Parameter path: relative to the server's URL; nil: the file is not stored.
    mutating func stamp(id: String, at date: Date, path: String?) {
        let now = JSONValue.integer(Int(date.timeIntervalSince1970 * 1000))
        members["msg_id"] = .string(id)
        members["timestamp"] = now
        if members["sendtime"] == nil { members["sendtime"] = now }
        guard kind != .text else { return }
        // The apps read the path of every message but text; there is no smaller picture than the whole one.
        bodies["fileRemotePath"] = .string(path ?? "")
        bodies["thumbnailRemotePath"] = .string(path ?? "")
        if let file, bodies["size"] == nil { bodies["size"] = .integer(file.count) }
    }

    /// The acknowledgement to the sender: the whole message without the file.
    var acknowledgement: JSONValue { .object(members).with("bodies", .object(bodies)) }

    /// The event's argument for the recipient, with the file as its only attachment.
    var delivery: (argument: JSONValue, attachments: [BinaryMessage]) {
        guard let file else { return (acknowledgement, []) }
        let placeholder: JSONValue = ["_placeholder": true, "num": 0]
        return (.object(members).with("bodies", .object(bodies).with("fileData", placeholder)), [file])
    }

    /// The message as text for those who cannot show it otherwise; nil for a file.
    var text: String? {
        switch kind {
        case .text:
            if case .string(let text)? = bodies["msg"] { return text }
            return nil
        case .location:
            let names = ["locationName", "detailLocationName"].compactMap { key -> String? in
                if case .string(let name)? = bodies[key], !name.isEmpty { name } else { nil }
            }
            let place = ["latitude", "longitude"].compactMap { key -> String? in
                switch bodies[key] {
                case .integer(let value)?: "\(value)"
                case .number(let value)?: "\(value)"
                default: nil
                }
            }
            return (names + [place.joined(separator: ", ")]).joined(separator: " · ")
        case .picture, .audio:
            return nil
        }
    }
}
