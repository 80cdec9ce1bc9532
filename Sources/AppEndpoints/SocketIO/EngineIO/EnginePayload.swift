import FoundationEssentials
package import NIOCore

/// Packets in the body of a polling request or answer (Engine.IO 3).
///
/// A payload of text is a list of `LENGTH:PACKET`, the length in UTF-16 code units; bytes are `b4` and base64. In a
/// payload of octets each packet is 0x00 (text) or 0x01 (bytes), the length in bytes as one byte per decimal digit, 0xFF,
/// and the packet. Every client but the Swift one takes octets, and older ones take nothing else.
package enum EnginePayload {
    /// The most packets of one body. A client that comes back sends some ten waiting messages.
    package static let maxPackets = 256
    /// The most digits of a length: bodies are smaller.
    private static let maxDigits = 9

    /// - Throws: for lengths that do not fit the body, packets that cannot be read, or too many of them.
    package static func decode(text body: [UInt8]) throws(EngineFault) -> [EnginePacket] {
        var packets: [EnginePacket] = []
        var index = 0
        while index < body.count {
            var units = 0
            var digits = 0
            while index < body.count, let digit = decimal(body[index]) {
                (units, digits) = (units * 10 + digit, digits + 1)
                index += 1
                guard digits <= maxDigits else { throw .malformed }
            }
            guard digits > 0, index < body.count, body[index] == UInt8(ascii: ":") else { throw .malformed }
            index += 1
            let end = try self.end(ofUnits: units, in: body, from: index)
            // `0:` is the payload of no packets.
            if end > index { try add(packet(text: body[index..<end]), to: &packets) }
            index = end
        }
        return packets
    }

    /// The index behind `units` UTF-16 code units of UTF-8.
    private static func end(ofUnits units: Int, in body: [UInt8], from start: Int) throws(EngineFault) -> Int {
        var left = units
        var index = start
        while left > 0 {
            guard index < body.count else { throw .malformed }
            let length: Int
            switch body[index] {
            case ..<0x80: length = 1
            case 0xC0..<0xE0: length = 2
            case 0xE0..<0xF0: length = 3
            case 0xF0..<0xF8: length = 4
            default: throw .malformed
            }
            // Characters beyond the first plane, such as emoji, have two units.
            left -= length == 4 ? 2 : 1
            index += length
        }
        guard left == 0, index <= body.count else { throw .malformed }
        return index
    }

    private static func packet(text slice: ArraySlice<UInt8>) throws(EngineFault) -> EnginePacket {
        if slice.first == UInt8(ascii: "b") {
            guard slice.count >= 2, EnginePacket.Kind(character: slice[slice.startIndex + 1]) == .message,
                let data = Data(base64Encoded: Data(slice.dropFirst(2)))
            else { throw .malformed }
            return EnginePacket(BinaryMessage(data))
        }
        guard let text = String(validating: slice, as: UTF8.self) else { throw .malformed }
        return try EnginePacket(frame: text)
    }

    package static func decode(octets body: [UInt8]) throws(EngineFault) -> [EnginePacket] {
        var packets: [EnginePacket] = []
        var index = 0
        while index < body.count {
            let isText = body[index] == 0
            guard isText || body[index] == 1 else { throw .malformed }
            index += 1
            var length = 0
            var digits = 0
            while index < body.count, body[index] <= 9 {
                (length, digits) = (length * 10 + Int(body[index]), digits + 1)
                index += 1
                guard digits <= maxDigits else { throw .malformed }
            }
            guard digits > 0, index < body.count, body[index] == 0xFF else { throw .malformed }
            index += 1
            guard length <= body.count - index else { throw .malformed }
            let slice = body[index..<index + length]
            index += length
            if isText {
                guard let text = String(validating: slice, as: UTF8.self) else { throw .malformed }
                try add(EnginePacket(frame: text), to: &packets)
            } else {
                try add(EnginePacket(frame: Array(slice)), to: &packets)
            }
        }
        return packets
    }

    private static func add(_ packet: EnginePacket, to packets: inout [EnginePacket]) throws(EngineFault) {
        guard packets.count < maxPackets else { throw .tooManyPackets }
        packets.append(packet)
    }

    private static func decimal(_ byte: UInt8) -> Int? {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) ? Int(byte - UInt8(ascii: "0")) : nil
    }

    /// The payload of text, for clients that ask for it (`b64=1`).
    package static func encode(text packets: [EnginePacket]) -> [UInt8] {
        EnginePieces(packets, isText: true).reduce(into: []) { $0 += $1.readableBytesView }
    }

    /// The payload of octets, for all others.
    package static func encode(octets packets: [EnginePacket]) -> ByteBuffer {
        EnginePieces(packets, isText: false).reduce(into: ByteBuffer()) { $0.writeImmutableBuffer($1) }
    }
}
