import Basics
import FoundationEssentials
package import NIOCore

/// One packet of Engine.IO 3.
package struct EnginePacket: Sendable, Equatable {
    package enum Kind: UInt8, Sendable {
        case open = 0, close, ping, pong, message, upgrade, noop

        /// From the packet's first character.
        package init?(character: UInt8) { self.init(rawValue: character &- UInt8(ascii: "0")) }
    }

    package enum Content: Sendable, Equatable {
        case text(String)
        case binary(BinaryMessage)
        /// A text on its way to clients.
        case shared(SharedText)
    }

    package var kind: Kind
    package var content: Content

    package init(_ kind: Kind, _ text: String = "") {
        self.kind = kind
        content = .text(text)
    }

    /// A message of bytes; no other kind of packet has any.
    package init(_ attachment: BinaryMessage) {
        kind = .message
        content = .binary(attachment)
    }

    /// A message that waits for its receivers.
    package init(_ text: SharedText) {
        kind = .message
        content = .shared(text)
    }

    /// The packet in a text frame.
    ///
    /// - Throws: `.malformed` for an empty frame or an unknown kind.
    package init(frame text: String) throws(EngineFault) {
        guard let first = text.utf8.first, let kind = Kind(character: first) else { throw .malformed }
        self.init(kind, String(text.dropFirst()))
    }

    /// The packet in a binary frame, whose first byte is the kind as a number.
    package init(frame bytes: [UInt8]) throws(EngineFault) {
        guard bytes.first == Kind.message.rawValue else { throw .malformed }
        self.init(BinaryMessage(frame: bytes))
    }

    /// The text of a packet without bytes, as a frame and in a polling answer.
    package static func text(_ kind: Kind, _ text: String) -> String { "\(kind.rawValue)\(text)" }

    /// In bytes, as it waits for the client.
    package var count: Int {
        switch content {
        case .text(let text): text.utf8.count + 1
        case .binary(let attachment): attachment.frame.readableBytes
        case .shared(let text): text.frame.readableBytes
        }
    }

    /// As a frame of a WebSocket.
    package var frame: ByteBuffer {
        switch content {
        case .text(let text): ByteBuffer(string: EnginePacket.text(kind, text))
        case .binary(let attachment): attachment.frame
        case .shared(let text): text.frame
        }
    }

    /// The place in the server's budget that the packet holds.
    package var share: ByteBudget.Share? {
        switch content {
        case .text: nil
        case .binary(let attachment): attachment.share
        case .shared(let text): text.share
        }
    }
}

/// The text of a message, encoded once for all its receivers, with the kind in front.
package struct SharedText: Sendable, Equatable {
    let frame: ByteBuffer
    /// Holds the text's place in the server's budget until the last receiver has it.
    let share: ByteBudget.Share

    /// nil where the budget has no place for the text.
    ///
    /// - Parameter address: of the client that caused it.
    init?(_ text: String, _ budget: ByteBudget, for address: IPAddress?) {
        guard let share = budget.take(text.utf8.count + 1, for: address) else { return nil }
        var frame = ByteBuffer()
        frame.reserveCapacity(text.utf8.count + 1)
        frame.writeString(EnginePacket.text(.message, ""))
        frame.writeString(text)
        (self.frame, self.share) = (frame, share)
    }

    /// Without the kind.
    var text: String { String(decoding: frame.readableBytesView.dropFirst(), as: UTF8.self) }

    package static func == (one: SharedText, other: SharedText) -> Bool { one.frame == other.frame }
}

/// The bytes of a binary message, shared by all its receivers, with the byte in front that a WebSocket frame of
/// Engine.IO 3 has.
package struct BinaryMessage: Sendable, Equatable {
    /// 0x04 and the bytes.
    package let frame: ByteBuffer
    /// Holds the bytes' place in the server's budget until the last receiver has them.
    package let share: ByteBudget.Share?

    package init(_ bytes: some Collection<UInt8>, share: ByteBudget.Share? = nil) {
        var frame = ByteBuffer()
        frame.reserveCapacity(bytes.count + 1)
        frame.writeInteger(EnginePacket.Kind.message.rawValue)
        frame.writeBytes(bytes)
        self.frame = frame
        self.share = share
    }

    /// - Parameter frame: not empty.
    fileprivate init(frame: [UInt8]) {
        self.frame = ByteBuffer(bytes: frame)
        share = nil
    }

    private init(_ frame: ByteBuffer, _ share: ByteBudget.Share?) {
        self.frame = frame
        self.share = share
    }

    /// The same attachment, which holds a place in a budget.
    package func holding(_ share: ByteBudget.Share) -> BinaryMessage { BinaryMessage(frame, share) }

    /// The number of bytes, without the one in front.
    package var count: Int { frame.readableBytes - 1 }
    package var bytes: [UInt8] { Array(frame.readableBytesView.dropFirst()) }
    package func prefix(_ length: Int) -> [UInt8] { Array(frame.readableBytesView.dropFirst().prefix(length)) }

    package static func == (one: BinaryMessage, other: BinaryMessage) -> Bool { one.frame == other.frame }
}

/// What a client of Engine.IO did against the protocol.
package enum EngineFault: Error, Equatable, Sendable {
    case malformed
    /// More packets in one payload than clients send.
    case tooManyPackets
}
