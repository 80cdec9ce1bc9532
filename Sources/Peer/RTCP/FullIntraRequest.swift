import Basics

/// RTCP 206/4 (RFC 5104 §4.3.1): requests a keyframe. It is repeated until the keyframe arrives; the sender acts once
/// per new sequence number.
struct FullIntraRequest: Sendable, Equatable {
    static let format: UInt8 = 4

    struct Entry: Sendable, Equatable {
        var ssrc: SSRC
        var sequence: UInt8
        init(ssrc: SSRC, sequence: UInt8) {
            self.ssrc = ssrc
            self.sequence = sequence
        }
    }

    var senderSSRC: SSRC
    var entries: [Entry]

    init(senderSSRC: SSRC, entries: [Entry]) {
        self.senderSSRC = senderSSRC
        self.entries = entries
    }

    init(_ reader: inout ByteReader) throws(ByteReader.Truncated) {
        senderSSRC = try reader.readSSRC()
        try reader.skip(4)  // media SSRC: unused, zero
        entries = []
        while reader.remaining > 0 {
            entries.append(Entry(ssrc: try reader.readSSRC(), sequence: try reader.readUInt8()))
            try reader.skip(3)
        }
    }

    /// Appends the packet with its header, padded to whole words.
    func encode(into bytes: inout [UInt8]) {
        RTCPPacket.encodeHeader(
            RTCPPacket.payloadFeedbackType, count: Int(Self.format), bodyBytes: 8 + 8 * entries.count, into: &bytes)
        bytes.append32(senderSSRC.rawValue)
        bytes.append32(0)
        for entry in entries {
            bytes.append32(entry.ssrc.rawValue)
            bytes.append32(UInt32(entry.sequence) << 24)
        }
    }
}
