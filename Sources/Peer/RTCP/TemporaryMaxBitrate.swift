import Basics

/// RTCP 205/3 "TMMBR" and 205/4 "TMMBN" (RFC 5104 §4.2.1, §4.2.2): the most that a receiver accepts of a stream for
/// now, and the sender's notification of the limits that bind it. Both have the same format.
struct TemporaryMaxBitrate: Sendable, Equatable {
    static let requestFormat: UInt8 = 3
    static let notificationFormat: UInt8 = 4

    /// A limit and the packet overhead that it counts.
    struct Limit: Sendable, Equatable {
        /// In a request the stream to limit, in a notification the receiver that requested the limit.
        var ssrc: SSRC
        /// The rate of the packets, `overhead` included.
        var bitRate: BitRate
        /// Bytes of a packet beside its payload, as the receiver counts them; 0 to 511.
        var overhead: Int

        init(ssrc: SSRC, bitRate: BitRate, overhead: Int) {
            self.ssrc = ssrc
            self.bitRate = bitRate
            self.overhead = overhead
        }
    }

    var senderSSRC: SSRC
    var limits: [Limit]

    init(senderSSRC: SSRC, limits: [Limit]) {
        self.senderSSRC = senderSSRC
        self.limits = limits
    }

    init(_ reader: inout ByteReader) throws(ByteReader.Truncated) {
        senderSSRC = try reader.readSSRC()
        try reader.skip(4)  // media SSRC: unused, zero
        limits = []
        while reader.remaining > 0 {
            let ssrc = try reader.readSSRC()
            let packed = try reader.readUInt32()
            limits.append(
                Limit(
                    ssrc: ssrc, bitRate: FloatingBitRate(mantissaBits: 17).rate(packed >> 9),
                    overhead: Int(packed & 0x1FF)))
        }
    }

    /// Appends the packet with its header; rates of more than 17 bits are rounded down.
    func encode(format: UInt8, into bytes: inout [UInt8]) {
        RTCPPacket.encodeHeader(
            RTCPPacket.transportFeedbackType, count: Int(format), bodyBytes: 8 + 8 * limits.count, into: &bytes)
        bytes.append32(senderSSRC.rawValue)
        bytes.append32(0)
        for limit in limits {
            bytes.append32(limit.ssrc.rawValue)
            bytes.append32(
                FloatingBitRate(mantissaBits: 17).packed(limit.bitRate) << 9
                    | UInt32(min(max(limit.overhead, 0), 0x1FF)))
        }
    }
}
