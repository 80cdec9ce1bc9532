import Basics

/// RTCP 207 (RFC 3611): how a receiver that sends no media measures its round trip.
struct ExtendedReport: Sendable, Equatable {
    static let packetType: UInt8 = 207

    /// One answer to a receiver reference time (RFC 3611 §4.5).
    struct DelaySinceReference: Sendable, Equatable {
        var ssrc: SSRC
        /// The middle 32 bits of the reference time's NTP.
        var lastReference: UInt32
        /// In 1/65536 s.
        var delay: UInt32
        init(ssrc: SSRC, lastReference: UInt32, delay: UInt32) {
            self.ssrc = ssrc
            self.lastReference = lastReference
            self.delay = delay
        }
    }

    enum Block: Sendable, Equatable {
        /// RRTR (RFC 3611 §4.4): the receiver's own NTP time.
        case receiverReferenceTime(UInt64)
        /// DLRR (RFC 3611 §4.5).
        case delaySinceLastReference([DelaySinceReference])
    }

    var ssrc: SSRC
    /// Blocks of other types are skipped.
    var blocks: [Block]

    init(ssrc: SSRC, blocks: [Block]) {
        self.ssrc = ssrc
        self.blocks = blocks
    }

    init(_ reader: inout ByteReader) throws(ByteReader.Truncated) {
        ssrc = try reader.readSSRC()
        blocks = []
        while reader.remaining > 0 {
            let type = try reader.readUInt8()
            try reader.skip(1)
            let words = Int(try reader.readUInt16())
            guard reader.remaining >= 4 * words else { throw ByteReader.Truncated() }
            switch (type, words) {
            case (4, 2):
                blocks.append(.receiverReferenceTime(try reader.readUInt64()))
            case (5, _) where words % 3 == 0:
                var items: [DelaySinceReference] = []
                for _ in 0..<words / 3 {
                    items.append(
                        DelaySinceReference(
                            ssrc: try reader.readSSRC(), lastReference: try reader.readUInt32(),
                            delay: try reader.readUInt32())
                    )
                }
                blocks.append(.delaySinceLastReference(items))
            default:
                try reader.skip(4 * words)
            }
        }
    }

    /// Appends the packet with its header, padded to whole words.
    func encode(into bytes: inout [UInt8]) {
        var body: [UInt8] = []
        body.append32(ssrc.rawValue)
        for block in blocks {
            switch block {
            case .receiverReferenceTime(let time):
                body.append32(0x0400_0002)
                body.append64(time)
            case .delaySinceLastReference(let items):
                body.append16(0x0500)
                body.append16(UInt16(truncatingIfNeeded: items.count * 3))
                for item in items {
                    body.append32(item.ssrc.rawValue)
                    body.append32(item.lastReference)
                    body.append32(item.delay)
                }
            }
        }
        RTCPPacket.encodeHeader(Self.packetType, count: 0, bodyBytes: body.count, into: &bytes)
        bytes += body
    }
}
