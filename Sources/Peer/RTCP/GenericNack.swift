import Basics

/// RTCP 205/1 (RFC 4585 §6.2.1): the missing packets, as a first number and a bit mask of the 16 after it.
struct GenericNack: Sendable, Equatable {
    static let format: UInt8 = 1
    /// Keeps a NACK below 1200 bytes.
    static let maximumEntries = 250

    struct Entry: Sendable, Equatable {
        var packetID: SequenceNumber
        var mask: UInt16
        init(packetID: SequenceNumber, mask: UInt16) {
            self.packetID = packetID
            self.mask = mask
        }
    }

    var senderSSRC: SSRC
    var mediaSSRC: SSRC
    var entries: [Entry]

    init(senderSSRC: SSRC, mediaSSRC: SSRC, entries: [Entry]) {
        self.senderSSRC = senderSSRC
        self.mediaSSRC = mediaSSRC
        self.entries = entries
    }

    /// Packs sequence numbers, which must be in rising order (also across a wrap).
    init(senderSSRC: SSRC, mediaSSRC: SSRC, missing: [SequenceNumber]) {
        var entries: [Entry] = []
        for sequence in missing {
            if let last = entries.last, case let steps = sequence.steps(from: last.packetID), steps <= 16 {
                if steps > 0 { entries[entries.count - 1].mask |= 1 << (steps - 1) }
            } else if entries.count < Self.maximumEntries {
                entries.append(Entry(packetID: sequence, mask: 0))
            }
        }
        self.init(senderSSRC: senderSSRC, mediaSSRC: mediaSSRC, entries: entries)
    }

    init(_ reader: inout ByteReader) throws(ByteReader.Truncated) {
        senderSSRC = try reader.readSSRC()
        mediaSSRC = try reader.readSSRC()
        entries = []
        while reader.remaining > 0 {
            entries.append(Entry(packetID: try reader.readSequenceNumber(), mask: try reader.readUInt16()))
        }
    }

    /// The missing sequence numbers, in rising order.
    var missing: [SequenceNumber] {
        var result: [SequenceNumber] = []
        for entry in entries {
            result.append(entry.packetID)
            for bit in 0..<16 where entry.mask >> bit & 1 == 1 { result.append(entry.packetID + bit + 1) }
        }
        return result
    }

    /// Appends the packet with its header, padded to whole words.
    func encode(into bytes: inout [UInt8]) {
        RTCPPacket.encodeHeader(
            RTCPPacket.transportFeedbackType, count: Int(Self.format), bodyBytes: 8 + 4 * entries.count, into: &bytes)
        bytes.append32(senderSSRC.rawValue)
        bytes.append32(mediaSSRC.rawValue)
        for entry in entries {
            bytes.append16(entry.packetID.rawValue)
            bytes.append16(entry.mask)
        }
    }
}
