public import Basics

/// The counters of one SSRC of ours.
public struct SentCounters: Sendable, Equatable {
    /// RTP packets.
    public var packets = 0
    /// RTP payload bytes, as sender reports count them.
    public var payloadBytes = 0
    /// Bytes of whole RTP packets.
    public var bytes = 0
    /// Whole frames, or packets of audio.
    public var frames = 0
    /// Frames that can be decoded without another one.
    public var keyframes = 0
    /// Packets that were retransmitted at the peer's request.
    public var retransmittedPackets = 0
    /// Bytes of those packets.
    public var retransmittedBytes = 0
    /// Packets that only probed the path.
    public var paddingPackets = 0
    /// Bytes of those packets.
    public var paddingBytes = 0
    /// How often audio went out again: copies in later packets, and packets that were sent twice.
    public var repeatedPackets = 0
    /// NACK packets received.
    public var nacks = 0
    /// Picture loss indications received.
    public var pictureLossIndications = 0
    /// Full intra requests received.
    public var fullIntraRequests = 0
    /// Frames that were not sent: of the upper temporal layer, before a keyframe, or cut from a late queue.
    public var framesSkipped = 0
    /// How often a late queue was cut.
    public var cuts = 0

    /// Makes counters of zero.
    public init() {}
}

/// The counts and measurements of one kind of media that we send.
public struct SentStatistics: Sendable {
    /// `opus`, `h264` or `vp8`; nil if nothing is sent.
    public var codec: String?
    /// Width of the newest keyframe, in pixels.
    public var width = 0
    /// Height in pixels.
    public var height = 0
    /// The counters of the media's SSRC.
    public var counters = SentCounters()
    /// Packets of the RTX stream with probes and padding.
    public var repair = SentCounters()
    /// The rate of the last second.
    public var bitRate = BitRate.zero
    /// The lost share that the peer reports, 0…1.
    public var lossFraction = 0.0
    /// The number of lost packets that the peer reports.
    public var packetsLost = 0
    /// The jitter that the peer reports.
    public var jitter = Duration.zero

    /// Makes statistics of zero.
    public init() {}
}
