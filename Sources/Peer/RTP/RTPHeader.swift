import Basics

/// Why bytes are not an RTP packet.
package enum RTPError: Error, Equatable, Sendable {
    case truncated
    case wrongVersion
    /// The padding count is zero or larger than what it pads.
    case wrongPadding
}

/// The fixed header of an RTP packet and the ranges of its parts (RFC 3550 §5.1, RFC 8285).
///
/// It holds no bytes: ranges index the span that was parsed. Parsing allocates nothing.
package struct RTPHeader: Sendable, Equatable {
    package var marker: Bool
    package var payloadType: UInt8
    package var sequence: SequenceNumber
    package var timestamp: RTPTimestamp
    package var ssrc: SSRC
    package var csrcCount: Int
    /// The "defined by profile" word of the extension; 0 without one.
    package var extensionProfile: UInt16
    /// The extension's elements, without its four-byte head.
    package var extensionRange: Range<Int>
    /// The payload without padding; empty in a padding-only packet.
    package var payloadRange: Range<Int>
    /// How many bytes of padding follow the payload, the count byte included.
    package var paddingCount: Int

    package init(parsing bytes: Span<UInt8>) throws(RTPError) {
        var reader = ByteReader(bytes)
        do {
            let first = try reader.readUInt8()
            guard first >> 6 == 2 else { throw RTPError.wrongVersion }
            let second = try reader.readUInt8()
            marker = second & 0x80 != 0
            payloadType = second & 0x7F
            sequence = try reader.readSequenceNumber()
            timestamp = try reader.readRTPTimestamp()
            ssrc = try reader.readSSRC()
            csrcCount = Int(first & 0x0F)
            try reader.skip(4 * csrcCount)
            if first & 0x10 != 0 {
                extensionProfile = try reader.readUInt16()
                extensionRange = try reader.take(4 * Int(reader.readUInt16()))
            } else {
                extensionProfile = 0
                extensionRange = 0..<0
            }
            let rest = try reader.take(reader.remaining)
            paddingCount = 0
            if first & 0x20 != 0 {
                guard !rest.isEmpty else { throw RTPError.wrongPadding }
                paddingCount = Int(bytes[rest.upperBound - 1])
                guard paddingCount >= 1, paddingCount <= rest.count else { throw RTPError.wrongPadding }
            }
            payloadRange = rest.lowerBound..<rest.upperBound - paddingCount
        } catch let error as RTPError {
            throw error
        } catch {
            throw .truncated
        }
    }

    /// The range of the value of extension element `id`; nil if the packet has none.
    ///
    /// Browsers mix the one-byte and the two-byte form packet by packet once `extmap-allow-mixed` is negotiated, so the
    /// form is determined for each packet (RFC 8285 §4.1.2).
    package func extensionElement(_ id: UInt8, in bytes: Span<UInt8>) -> Range<Int>? {
        guard id != 0 else { return nil }
        let twoByte = extensionProfile & 0xFFF0 == 0x1000
        guard twoByte || extensionProfile == 0xBEDE, extensionRange.upperBound <= bytes.count else { return nil }
        var index = extensionRange.lowerBound
        let end = extensionRange.upperBound
        while index < end {
            let first = bytes[index]
            index += 1
            if first == 0 { continue }  // padding between elements
            let elementID: UInt8
            let length: Int
            if twoByte {
                guard index < end else { return nil }
                elementID = first
                length = Int(bytes[index])
                index += 1
            } else {
                elementID = first >> 4
                if elementID == 15 { return nil }  // RFC 8285 §4.2: stop
                length = Int(first & 0x0F) + 1
            }
            guard length <= end - index else { return nil }
            // An id of zero with a length is padding too (RFC 8285 §4.2: ignore it).
            if elementID == id { return index..<index + length }
            index += length
        }
        return nil
    }

    /// The 16-bit value of an element, e.g. the transport-wide sequence number.
    package func extension16(_ id: UInt8, in bytes: Span<UInt8>) -> UInt16? {
        guard let range = extensionElement(id, in: bytes), range.count >= 2 else { return nil }
        return UInt16(bytes[range.lowerBound]) << 8 | UInt16(bytes[range.lowerBound + 1])
    }

    /// The 24-bit value of an element, e.g. the playout delay.
    package func extension24(_ id: UInt8, in bytes: Span<UInt8>) -> UInt32? {
        guard let range = extensionElement(id, in: bytes), range.count >= 3 else { return nil }
        return UInt32(bytes[range.lowerBound]) << 16 | UInt32(bytes[range.lowerBound + 1]) << 8
            | UInt32(bytes[range.lowerBound + 2])
    }

    /// The first byte of an element, e.g. audio level or rotation.
    package func extension8(_ id: UInt8, in bytes: Span<UInt8>) -> UInt8? {
        guard let range = extensionElement(id, in: bytes), range.count >= 1 else { return nil }
        return bytes[range.lowerBound]
    }
}

/// The audio level element of RFC 6464: one byte, voice flag and −dBov.
package struct AudioLevel: Sendable, Equatable {
    package var isVoice: Bool
    /// 0 is the loudest, 127 silence.
    package var level: UInt8

    package init(byte: UInt8) {
        isVoice = byte & 0x80 != 0
        level = byte & 0x7F
    }

    package init(isVoice: Bool, level: UInt8) {
        self.isVoice = isVoice
        self.level = min(level, 127)
    }

    package var byte: UInt8 { (isVoice ? 0x80 : 0) | level & 0x7F }
}
