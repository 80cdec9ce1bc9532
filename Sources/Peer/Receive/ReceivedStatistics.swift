import Basics

/// What was counted of one kind of media that comes in.
public struct ReceivedStatistics: Sendable {
    public var codec: String?
    public var width = 0
    public var height = 0
    public var packets = 0
    public var bytes = 0
    public var bitRate = BitRate.zero
    public var frames = 0
    public var keyframes = 0
    public var packetsLost = 0
    /// Of the last report interval, 0…1.
    public var lossFraction = 0.0
    public var jitter = Duration.zero
    /// Requests of ours.
    public var nacks = 0
    public var pictureLossIndications = 0
    /// Packets that came back by retransmission.
    public var recovered = 0
    public var retransmittedPackets = 0
    /// Frames of more bytes, packets or NAL units than a frame may have; dropped, and a keyframe asked for.
    public var oversizedFrames = 0
    public var freezes = 0
    public var frozenFor = Duration.zero
    /// The simulcast layer in use.
    public var rid: String?

    public init() {}
}
