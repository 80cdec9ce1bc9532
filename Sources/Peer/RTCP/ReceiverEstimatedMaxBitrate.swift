import Basics

/// RTCP 206/15 "REMB" (draft-alvestrand-rmcat-remb-03 §2.2): the most that the receiver accepts.
struct ReceiverEstimatedMaxBitrate: Sendable, Equatable {
    static let format: UInt8 = 15
    static let identifier: UInt32 = 0x5245_4D42

    var senderSSRC: SSRC
    var bitRate: BitRate
    var ssrcs: [SSRC]

    init(senderSSRC: SSRC, bitRate: BitRate, ssrcs: [SSRC]) {
        self.senderSSRC = senderSSRC
        self.bitRate = bitRate
        self.ssrcs = ssrcs
    }

    /// nil for another application's feedback.
    init?(_ reader: inout ByteReader) throws(ByteReader.Truncated) {
        senderSSRC = try reader.readSSRC()
        try reader.skip(4)
        guard try reader.readUInt32() == Self.identifier else { return nil }
        let count = Int(try reader.readUInt8())
        bitRate = FloatingBitRate(mantissaBits: 18).rate(try reader.readUInt24())
        ssrcs = []
        for _ in 0..<count { ssrcs.append(try reader.readSSRC()) }
    }

    /// Appends the packet with its header, padded to whole words.
    func encode(into bytes: inout [UInt8]) {
        let ssrcs = ssrcs.prefix(255)
        RTCPPacket.encodeHeader(
            RTCPPacket.payloadFeedbackType, count: Int(Self.format), bodyBytes: 16 + 4 * ssrcs.count, into: &bytes)
        bytes.append32(senderSSRC.rawValue)
        bytes.append32(0)
        bytes.append32(Self.identifier)
        bytes.append(UInt8(ssrcs.count))
        bytes.append24(FloatingBitRate(mantissaBits: 18).packed(bitRate))
        for ssrc in ssrcs { bytes.append32(ssrc.rawValue) }
    }
}
