import Basics

/// RTCP 206/1 (RFC 4585 §6.3.1): send a keyframe.
public struct PictureLossIndication: Sendable, Equatable {
    public static let format: UInt8 = 1

    public var senderSSRC: UInt32
    public var mediaSSRC: UInt32

    public init(senderSSRC: UInt32, mediaSSRC: UInt32) {
        self.senderSSRC = senderSSRC
        self.mediaSSRC = mediaSSRC
    }

    init(_ reader: inout ByteReader) throws(ByteReader.Truncated) {
        senderSSRC = try reader.readUInt32()
        mediaSSRC = try reader.readUInt32()
    }

    /// Appends the packet with its header, padded to whole words.
    public func encode(into bytes: inout [UInt8]) {
        RTCPPacket.encodeHeader(RTCPPacket.payloadFeedbackType, count: Int(Self.format), bodyBytes: 8, into: &bytes)
        bytes.append32(senderSSRC)
        bytes.append32(mediaSSRC)
    }
}
