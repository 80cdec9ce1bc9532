import Basics

/// What one SSRC of ours counted.
public struct SentCounters: Sendable, Equatable {
    public var packets = 0
    /// RTP payload bytes, as sender reports count them.
    public var payloadBytes = 0
    /// Bytes of whole RTP packets.
    public var bytes = 0
    public var frames = 0
    public var keyframes = 0
    public var retransmittedPackets = 0
    public var retransmittedBytes = 0
    public var paddingPackets = 0
    public var paddingBytes = 0
    /// Packets of sound that carried the one before again.
    public var repeatedPackets = 0
    /// Requests that came in.
    public var nacks = 0
    public var pictureLossIndications = 0
    public var fullIntraRequests = 0
    /// Frames that were never sent: upper temporal layer, waiting for a keyframe, cut from a late queue.
    public var framesSkipped = 0
    /// How often a late queue was cut.
    public var cuts = 0

    public init() {}
}

/// What was counted of one kind of media that goes out.
public struct SentStatistics: Sendable {
    public var codec: String?
    public var width = 0
    public var height = 0
    public var counters = SentCounters()
    /// Packets of the RTX stream with probes and padding.
    public var repair = SentCounters()
    public var bitRate = BitRate.zero
    /// As the peer reports, 0…1.
    public var lossFraction = 0.0
    public var packetsLost = 0
    public var jitter = Duration.zero

    public init() {}
}
