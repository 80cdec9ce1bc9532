import Basics
import FoundationEssentials
import NIOCore

/// A payload of packets, made piece by piece while it is written: of packets that many clients share, a slow reader
/// costs no copy beyond one piece.
struct EnginePieces: Sequence, IteratorProtocol, Sendable {
    /// A piece of a file before base64: a multiple of three bytes, so that pieces need no padding.
    private static let fileBytes = 48 << 10

    private var packets: ArraySlice<EnginePacket>
    private let isText: Bool
    /// What is left of the packet whose head has gone.
    private var rest: ByteBuffer?
    private var isBase64 = false

    init(_ packets: [EnginePacket], isText: Bool) {
        self.packets = packets[...]
        self.isText = isText
    }

    /// The bytes of all pieces.
    var count: Int { packets.reduce(0) { $0 + head(of: $1).count + Self.bodyCount(of: $1, isText: isText) } }

    mutating func next() -> ByteBuffer? {
        if var rest {
            guard isBase64 else {
                self.rest = nil
                return rest
            }
            guard let bytes = rest.readBytes(length: Swift.min(Self.fileBytes, rest.readableBytes)), !bytes.isEmpty
            else {
                self.rest = nil
                return next()
            }
            self.rest = rest
            return ByteBuffer(bytes: Data(bytes).base64EncodedData())
        }
        guard let packet = packets.popFirst() else { return nil }
        rest = packet.frame
        isBase64 = false
        if isText, case .binary = packet.content {
            isBase64 = true
            rest?.moveReaderIndex(forwardBy: 1)
        }
        return ByteBuffer(bytes: head(of: packet))
    }

    /// Base64 or the frame itself.
    private static func bodyCount(of packet: EnginePacket, isText: Bool) -> Int {
        if isText, case .binary(let attachment) = packet.content { return (attachment.count + 2) / 3 * 4 }
        return packet.frame.readableBytes
    }

    private func head(of packet: EnginePacket) -> [UInt8] {
        var isBinary = false
        if case .binary = packet.content { isBinary = true }
        if isText {
            let body = Self.bodyCount(of: packet, isText: true)
            if isBinary { return Array("\(body + 2):b\(packet.kind.rawValue)".utf8) }
            return Array("\(Self.units(packet.frame)):".utf8)
        }
        let length = packet.frame.readableBytes
        return [isBinary ? 1 : 0] + "\(length)".utf8.map { $0 - UInt8(ascii: "0") } + [0xFF]
    }

    /// The UTF-16 code units of a buffer of UTF-8: one for each character, two beyond the first plane.
    private static func units(_ frame: ByteBuffer) -> Int {
        frame.readableBytesView.reduce(0) { $0 + ($1 & 0xC0 == 0x80 ? 0 : $1 >= 0xF0 ? 2 : 1) }
    }
}
