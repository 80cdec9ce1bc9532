package import Conference
package import FoundationEssentials
package import WebServer

/// One message of FLSocketIM's `chat` event: `{"from_user","to_user","chat_type","sendtime","bodies":{"type",…}}`.
///
/// What a client sends is not passed on as it is. The Android app reads it by a typed model, outside of any `catch`:
/// a member of another type, an unknown word for one of its enumerations, or a picture without a size ends the app. So
/// `ChatBody` and this type write the members that the apps' models have, with their types, and no others.
package struct ChatEnvelope: Sendable, Equatable {
    package enum Kind: String, Sendable {
        case text = "txt"
        case picture = "img"
        case audio
        case location = "loc"
    }

    /// The most bytes of the JSON, without the attachment.
    package static let maxBytes = 32_768

    package let from: String
    package let to: String
    package let kind: Kind
    /// The picture's or the recording's bytes.
    package let file: BinaryMessage?
    private var members: [String: JSONValue]
    /// Without `fileData`.
    private var bodies: [String: JSONValue]

    /// nil for an argument that is no message.
    ///
    /// - Parameter user: the sender, whatever the message says.
    package init?(_ argument: JSONValue, _ attachments: [BinaryMessage], from user: String) {
        guard case .object(let received) = argument, case .object(let bodies)? = received["bodies"],
            case .string(let to)? = received["to_user"], case .string(let type)? = bodies["type"],
            let kind = Kind(rawValue: type), (1...256).contains(to.utf8.count)
        else { return nil }
        let isFile = kind == .picture || kind == .audio
        file = isFile ? bodies["fileData"].flatMap { ChatEnvelope.attachment($0, attachments) } : nil
        guard file != nil || !isFile else { return nil }
        (self.to, self.kind, from) = (to, kind, user)
        members = ChatEnvelope.members(user, to)
        if let sent = [received["sendtime"], received["sendTime"]].lazy.compactMap({ $0?.whole }).first {
            // Each app has its own spelling.
            (members["sendtime"], members["sendTime"]) = (.integer(sent), .integer(sent))
        }
        self.bodies = ChatBody.members(of: kind, from: bodies, file)
        guard JSONValue.object(members).bytes.count + JSONValue.object(self.bodies).bytes.count <= ChatEnvelope.maxBytes
        else { return nil }
    }

    /// What the acknowledgement names of a message that is not passed on, whatever it is.
    package init(declined argument: JSONValue, from user: String) {
        let texts = [argument["to_user"], argument["bodies"]?["type"]].map { value -> String in
            if case .string(let text)? = value, text.utf8.count <= 256 { text } else { "" }
        }
        (from, to, kind, file) = (user, texts[0], Kind(rawValue: texts[1]) ?? .text, nil)
        members = ChatEnvelope.members(user, to)
        bodies = ["type": .string(kind.rawValue)]
    }

    /// A message of the server's own, from a room.
    package init(from user: String, to other: String, text: String) {
        (from, to, kind, file) = (user, other, .text, nil)
        members = ChatEnvelope.members(user, other)
        bodies = ["type": "txt", "msg": .string(text)]
    }

    /// A picture from a room.
    package init(from user: String, to other: String, picture: BinaryMessage, name: String) {
        (from, to, kind, file) = (user, other, .picture, picture)
        members = ChatEnvelope.members(user, other)
        bodies = ChatBody.members(of: .picture, from: ["fileName": .string(name)], picture)
    }

    /// The same message of another sender to another recipient.
    package func sent(from user: String, to other: String) -> ChatEnvelope {
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
    package static func path(_ picture: ChatPicture) -> String { "images/\(picture.id)" }

    private static func members(_ from: String, _ to: String) -> [String: JSONValue] {
        // sendStatus: the Android app stores no message without one; 0 is a new message's in both apps.
        ["from_user": .string(from), "to_user": .string(to), "chat_type": "chat", "sendStatus": 0]
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
    package mutating func stamp(id: String, at date: Date, path: String?) {
        let now = JSONValue.integer(Int(date.timeIntervalSince1970 * 1000))
        members["msg_id"] = .string(id)
        members["timestamp"] = now
        if members["sendtime"] == nil { (members["sendtime"], members["sendTime"]) = (now, now) }
        guard kind != .text else { return }
        // The apps read the path of every message but text; there is no smaller picture than the whole one.
        bodies["fileRemotePath"] = .string(path ?? "")
        bodies["thumbnailRemotePath"] = .string(path ?? "")
    }

    /// The acknowledgement to the sender: the whole message without the file.
    package var acknowledgement: JSONValue { .object(members).with("bodies", .object(bodies)) }

    /// The event's argument for the recipient, with the file as its only attachment.
    package var delivery: (argument: JSONValue, attachments: [BinaryMessage]) {
        guard let file else { return (acknowledgement, []) }
        let placeholder: JSONValue = ["_placeholder": true, "num": 0]
        return (.object(members).with("bodies", .object(bodies).with("fileData", placeholder)), [file])
    }

    /// The message as text for those who cannot show it otherwise; nil for a file.
    package var text: String? {
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
