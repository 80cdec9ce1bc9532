import Basics

/// What one SSRC of ours counted.
public struct SentCounters: Sendable, Equatable {
    /// RTP packets.
    public var packets = 0
    /// RTP payload bytes, as sender reports count them.
    public var payloadBytes = 0
    /// Bytes of whole RTP packets.
    public var bytes = 0
    /// Whole frames, or packets of audio.
    public var frames = 0
    /// Those of the frames that need no other.
    public var keyframes = 0
    /// Packets that were sent again because the peer asked.
    public var retransmittedPackets = 0
    /// Bytes of those packets.
    public var retransmittedBytes = 0
    /// Packets that only measured the path.
    public var paddingPackets = 0
    /// Bytes of those packets.
    public var paddingBytes = 0
    /// Packets of audio that carried the one before again.
    public var repeatedPackets = 0
    /// NACK packets that came in.
    public var nacks = 0
    /// Picture loss indications that came in.
    public var pictureLossIndications = 0
    /// Full intra requests that came in.
    public var fullIntraRequests = 0
    /// Frames that were never sent: upper temporal layer, waiting for a keyframe, cut from a late queue.
    public var framesSkipped = 0
    /// How often a late queue was cut.
    public var cuts = 0

    /// Nothing counted yet.
    public init() {}
}

/// What was counted of one kind of media that goes out.
public struct SentStatistics: Sendable {
    /// `opus`, `h264` or `vp8`; nil where nothing is sent.
    public var codec: String?
    /// Of the newest keyframe, in pixels.
    public var width = 0
    /// In pixels.
    public var height = 0
    /// What the media's SSRC counted.
    public var counters = SentCounters()
    /// Packets of the RTX stream with probes and padding.
    public var repair = SentCounters()
    /// Of the last second.
    public var bitRate = BitRate.zero
    /// As the peer reports, 0…1.
    public var lossFraction = 0.0
    /// As the peer reports.
    public var packetsLost = 0
    /// As the peer reports.
    public var jitter = Duration.zero

    /// Nothing counted yet.
    public init() {}
}
