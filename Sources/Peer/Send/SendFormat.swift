public import Basics

/// The negotiated header extensions of one section that we write; nil is not negotiated and never sent.
struct OutgoingExtensions: Sendable, Equatable {
    var mid: UInt8?
    var midValue = ""
    var absSendTime: UInt8?
    var transportCC: UInt8?
    var audioLevel: UInt8?
    var playoutDelay: UInt8?
    /// The one-byte form carries ids up to 14.
    var needsTwoBytes: Bool {
        [mid, absSendTime, transportCC, audioLevel, playoutDelay].contains { ($0 ?? 0) > 14 }
    }

    /// 24 bits, 6.18 fixed point seconds (the abs-send-time extension).
    static func absoluteSendTime(_ now: Instant) -> UInt32 {
        let (seconds, rest) = now.nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        return UInt32(truncatingIfNeeded: (seconds << 18) &+ rest << 18 / 1_000_000_000) & 0xFF_FFFF
    }

    /// Writes the negotiated extensions.
    func write(
        into writer: inout RTPPacketWriter, transportSequence: SequenceNumber?, sendTime: UInt32, level: UInt8? = nil,
        hold: PlayoutDelay? = nil
    ) {
        if let mid, !midValue.isEmpty, midValue.utf8.count <= (needsTwoBytes ? 255 : 16) {
            writer.addExtension(mid, midValue)
        }
        if let absSendTime { writer.addExtension24(absSendTime, sendTime) }
        if let transportCC, let transportSequence { writer.addExtension(transportCC, transportSequence.rawValue) }
        if let playoutDelay, let hold { writer.addExtension24(playoutDelay, hold.value) }
        if let audioLevel, let level {
            writer.addExtension(audioLevel, AudioLevel(isVoice: level < 127, level: level).byte)
        }
    }
}

/// A video format that the peer accepts.
public struct VideoSendFormat: Sendable, Hashable {
    /// The codec.
    public var codec: VideoCodec
    /// RFC 6184 §6: 0 allows no fragmentation, so the encoder must limit its slices; 1 is usual.
    public var packetizationMode: Int
    /// RFC 6184 §8.1, as negotiated; nil for VP8.
    public var profileLevelID: String?

    /// Makes a format from its parts.
    public init(codec: VideoCodec, packetizationMode: Int = 1, profileLevelID: String? = nil) {
        self.codec = codec
        self.packetizationMode = packetizationMode
        self.profileLevelID = profileLevelID
    }
}

/// The payload types of one codec.
struct OutgoingCodec: Sendable, Equatable {
    var payloadType: UInt8
    var retransmissionPayloadType: UInt8?
    var usesNack: Bool
}
