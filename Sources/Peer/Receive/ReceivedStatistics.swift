public import Basics

/// The counts and measurements of one kind of received media.
public struct ReceivedStatistics: Sendable {
    /// `opus`, `h264` or `vp8`; nil before the first packet.
    public var codec: String?
    /// Width of the newest frame of known size, in pixels.
    public var width = 0
    /// Height in pixels.
    public var height = 0
    /// RTP packets.
    public var packets = 0
    /// Bytes of RTP packets.
    public var bytes = 0
    /// The rate of the last second.
    public var bitRate = BitRate.zero
    /// Whole frames, or packets of audio.
    public var frames = 0
    /// Frames that can be decoded without another one.
    public var keyframes = 0
    /// As reports count them (RFC 3550 A.3): negative if duplicates outnumber losses.
    public var packetsLost = 0
    /// The loss in the last report interval, 0…1.
    public var lossFraction = 0.0
    /// Interarrival jitter (RFC 3550 §6.4.1).
    public var jitter = Duration.zero
    /// Retransmissions that we requested, repeated requests counted.
    public var nacks = 0
    /// Keyframes that we requested.
    public var pictureLossIndications = 0
    /// Packets that were recovered by retransmission.
    public var recovered = 0
    /// Packets that came on the retransmission stream (RFC 4588).
    public var retransmittedPackets = 0
    /// Frames with more bytes, packets or NAL units than the limit; they are dropped, and a keyframe is requested.
    public var oversizedFrames = 0
    /// How often the picture froze.
    public var freezes = 0
    /// The total time of the freezes.
    public var frozenFor = Duration.zero
    /// The simulcast layer in use.
    public var rid: String?

    /// Makes statistics of zero.
    public init() {}
}
