import Basics

/// RTCP 206/1 (RFC 4585 §6.3.1): requests a keyframe.
struct PictureLossIndication: Sendable, Equatable {
    static let format: UInt8 = 1

    var senderSSRC: SSRC
    var mediaSSRC: SSRC

    init(senderSSRC: SSRC, mediaSSRC: SSRC) {
        self.senderSSRC = senderSSRC
        self.mediaSSRC = mediaSSRC
    }

    init(_ reader: inout ByteReader) throws(ByteReader.Truncated) {
        senderSSRC = try reader.readSSRC()
        mediaSSRC = try reader.readSSRC()
    }

    /// Appends the packet with its header, padded to whole words.
    func encode(into bytes: inout [UInt8]) {
        RTCPPacket.encodeHeader(RTCPPacket.payloadFeedbackType, count: Int(Self.format), bodyBytes: 8, into: &bytes)
        bytes.append32(senderSSRC.rawValue)
        bytes.append32(mediaSSRC.rawValue)
    }
}
