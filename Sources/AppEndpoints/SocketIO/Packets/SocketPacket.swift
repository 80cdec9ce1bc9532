package import WebServer

/// One packet of Socket.IO's parser protocol 4, without its attachments.
///
/// `TYPE[ATTACHMENTS-][/NAMESPACE,][ID][JSON]`: `42["chat",{…}]` is an Engine.IO message (4) with the event (2)
/// `["chat",{…}]`.
package struct SocketPacket: Sendable, Equatable {
    package enum Kind: UInt8, Sendable {
        case connect = 0, disconnect, event, ack, error, binaryEvent, binaryAck
    }

    package var kind: Kind
    var namespace = "/"
    /// The number that the answer to the event repeats.
    package var id: Int?
    /// The number of binary messages that follow.
    package var attachments = 0
    package var data: JSONValue?

    package init(_ kind: Kind, id: Int? = nil, data: JSONValue? = nil, attachments: Int = 0) {
        self.kind = kind
        self.id = id
        self.data = data
        self.attachments = attachments
    }

    /// The most attachments of an event; clients send one.
    static let maxAttachments = 4
    /// The most bytes of a packet: an SDP offer of `limits.sdpBytes`, escaped.
    package static let maxBytes = 256 * 1024
    /// Chat messages of the iOS client nest three objects in the event's list.
    private static let limits = JSONOutline.Limits(depth: 12, values: 1000)

    /// What is in front of a packet's JSON, and the name of an event, which cost next to nothing to read.
    package struct Head: Sendable, Equatable {
        package var kind: Kind
        /// The number of binary messages that follow.
        package var attachments = 0
        var namespace = "/"
        /// The number that the answer to the event repeats.
        package var id: Int?
        /// The name of an event as it stands in the text, where it is short.
        package var name: String?

        /// The most bytes of `name`: an event of the apps has less.
        private static let longestName = 32

        /// - Throws: for a text that is no packet, or beyond the limits.
        package init(parsing text: String) throws(SocketFault) {
            var rest = text.utf8[...]
            try self.init(&rest)
            guard rest.starts(with: "[\"".utf8) else { return }
            let text = rest.dropFirst(2).prefix(Head.longestName)
            name = text.firstIndex(of: UInt8(ascii: "\"")).map { String(Substring(text[..<$0])) }
        }

        fileprivate init(_ rest: inout Substring.UTF8View) throws(SocketFault) {
            guard rest.count <= SocketPacket.maxBytes else { throw .tooLarge }
            guard let first = rest.popFirst(), let kind = Kind(rawValue: first &- UInt8(ascii: "0")) else {
                throw .malformed
            }
            self.kind = kind
            if kind == .binaryEvent || kind == .binaryAck {
                guard let count = SocketPacket.number(&rest), rest.popFirst() == UInt8(ascii: "-") else {
                    throw .malformed
                }
                guard count <= SocketPacket.maxAttachments else { throw .tooManyAttachments }
                attachments = count
            }
            if rest.first == UInt8(ascii: "/") {
                let name = rest.prefix { $0 != UInt8(ascii: ",") }
                namespace = String(Substring(name))
                rest = rest.dropFirst(name.count + 1)
            }
            if let first = rest.first, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) {
                guard let number = SocketPacket.number(&rest) else { throw .malformed }
                id = number
            }
        }
    }

    /// - Throws: for a text that is no packet, or beyond the limits.
    package init(parsing text: String) throws(SocketFault) {
        var rest = text.utf8[...]
        let head = try Head(&rest)
        (kind, attachments, namespace, id) = (head.kind, head.attachments, head.namespace, head.id)
        guard !rest.isEmpty else { return }
        do {
            try JSONOutline.check(rest, SocketPacket.limits)
            data = try JSON.decode(JSONValue.self, from: rest)
        } catch {
            throw .malformed
        }
    }

    /// The name and the arguments of an event.
    package var event: (name: String, arguments: ArraySlice<JSONValue>)? {
        guard kind == .event || kind == .binaryEvent, case .array(let values)? = data,
            case .string(let name)? = values.first
        else { return nil }
        return (name, values.dropFirst())
    }

    /// The packet's text.
    package var text: String {
        var text = "\(kind.rawValue)"
        if kind == .binaryEvent || kind == .binaryAck { text += "\(attachments)-" }
        if namespace != "/" { text += "\(namespace)," }
        if let id { text += "\(id)" }
        if let data { text += String(decoding: data.bytes, as: UTF8.self) }
        return text
    }

    private static func number(_ text: inout Substring.UTF8View) -> Int? {
        let digits = text.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        // Eighteen digits always fit.
        guard (1...18).contains(digits.count) else { return nil }
        text = text.dropFirst(digits.count)
        return Int(Substring(digits))
    }
}

/// What a client of Socket.IO did against the protocol or its limits.
package enum SocketFault: Error, Equatable, Sendable {
    case malformed
    case tooLarge
    case tooManyAttachments
    /// A binary message that no event announced, or text where attachments are missing.
    case unexpected
    /// Far more packets than a client sends.
    case tooFast
}
