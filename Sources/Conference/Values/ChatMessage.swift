package import FoundationEssentials

/// A message of a room's chat: text, or a picture.
package struct ChatMessage: Hashable, Sendable {
    /// Bytes of `text`; a message with a picture has none.
    package static let allowedLength = 1...8192

    /// Random. A client that gets a message as an event and in the history shows it once.
    package var id: String
    /// The id of the sender.
    package var from: String
    package var fromName: String
    /// nil: everyone.
    package var to: String?
    package var text: String
    package var picture: ChatPicture?
    package var at: Date
    /// The number of the breakout group whose chat it is of; 0: the room itself. A message to one participant has the
    /// sender's.
    package var group = 0
    /// Whether it is to all groups.
    package var isForAll = false
}

/// A stored picture of a chat.
package struct ChatPicture: Hashable, Sendable {
    /// The largest picture, in bytes.
    package static let maxBytes = 8 << 20

    /// The name of its file, such as `k3v9….jpg`: random, so that only those who were told can read the picture.
    package var id: String
    /// The media type, such as `image/jpeg`.
    package var type: String
    package var bytes: Int
    /// The path at which the server's pages find it.
    package var path: String { "/images/" + id }

    package init(id: String, type: String, bytes: Int) {
        self.id = id
        self.type = type
        self.bytes = bytes
    }
}

extension ChatPicture {
    /// The kinds of pictures that are stored: those that every browser shows.
    package enum Format: String, Sendable, CaseIterable {
        case jpeg = "jpg"
        case png, gif, webp

        /// The media type. The extension of the file is the raw value.
        package var type: String {
            switch self {
            case .jpeg: "image/jpeg"
            case .png: "image/png"
            case .gif: "image/gif"
            case .webp: "image/webp"
            }
        }

        /// The format of a picture by its first bytes; nil for anything else.
        ///
        /// ISO/IEC 10918-1 (SOI and a marker), RFC 2083 §12.11, GIF89a §17, RFC 9649 §2.4.
        package init?(_ bytes: [UInt8]) {
            func begins(_ head: [UInt8], at offset: Int = 0) -> Bool { bytes.dropFirst(offset).starts(with: head) }
            if begins([0xFF, 0xD8, 0xFF]) {
                self = .jpeg
            } else if begins([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
                self = .png
            } else if begins(Array("GIF87a".utf8)) || begins(Array("GIF89a".utf8)) {
                self = .gif
            } else if begins(Array("RIFF".utf8)), begins(Array("WEBP".utf8), at: 8) {
                self = .webp
            } else {
                return nil
            }
        }

        /// The format of a stored picture's file; nil for a text that is not the id of a picture.
        package init?(id: String) {
            let parts = id.split(separator: ".", omittingEmptySubsequences: false)
            guard parts.count == 2, parts[0].utf8.count == ChatPicture.idLength,
                parts[0].utf8.allSatisfy(RandomToken.alphabet.contains)
            else { return nil }
            self.init(rawValue: String(parts[1]))
        }
    }

    /// Characters of the random part of an id: 130 random bits.
    static let idLength = 26
}
