import Basics

/// What was counted of one kind of media that comes in.
public struct ReceivedStatistics: Sendable {
    /// `opus`, `h264` or `vp8`; nil before the first packet.
    public var codec: String?
    /// Of the newest frame that told its size, in pixels.
    public var width = 0
    /// In pixels.
    public var height = 0
    /// RTP packets.
    public var packets = 0
    /// Bytes of RTP packets.
    public var bytes = 0
    /// Of the last second.
    public var bitRate = BitRate.zero
    /// Whole frames, or packets of audio.
    public var frames = 0
    /// Those of the frames that need no other.
    public var keyframes = 0
    /// As reports count them (RFC 3550 A.3): below zero where duplicates outnumber losses.
    public var packetsLost = 0
    /// Of the last report interval, 0…1.
    public var lossFraction = 0.0
    /// Interarrival jitter (RFC 3550 §6.4.1).
    public var jitter = Duration.zero
    /// Packets that we asked for again, each time counted.
    public var nacks = 0
    /// Keyframes that we asked for.
    public var pictureLossIndications = 0
    /// Packets that came back by retransmission.
    public var recovered = 0
    /// Packets that came on the retransmission stream (RFC 4588).
    public var retransmittedPackets = 0
    /// Frames of more bytes, packets or NAL units than a frame may have; dropped, and a keyframe asked for.
    public var oversizedFrames = 0
    /// How often the picture stood still.
    public var freezes = 0
    /// For how long in all.
    public var frozenFor = Duration.zero
    /// The simulcast layer in use.
    public var rid: String?

    /// Nothing counted yet.
    public init() {}
}
