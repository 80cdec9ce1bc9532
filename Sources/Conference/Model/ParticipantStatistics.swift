public import Basics
public import RoomMedia

/// Statistics of the media from and to one participant.
public struct ParticipantStatistics: Hashable, Sendable {
    /// One stream of either direction.
    public struct Stream: Hashable, Sendable {
        /// "h264", "vp8", "opus"; empty before the first packet.
        public var codec = ""
        public var width = 0
        public var height = 0
        public var framesPerSecond = 0.0
        public var frames = 0
        public var keyframes = 0
        public var packets = 0
        public var bytes = 0
        public var bitRate = BitRate.zero
        public var packetsLost = 0
        /// The recent loss fraction, 0 … 1.
        public var loss = 0.0
        public var jitter = Duration.zero
        public var nacks = 0
        public var keyframeRequests = 0
        public var retransmitted = 0
        public init() {}
    }

    public var receivedAudio = Stream()
    public var receivedVideo = Stream()
    /// What is sent beside the camera; nil: nothing ever was.
    public var receivedScreen: Stream?
    public var sentAudio = Stream()
    public var sentVideo = Stream()
    public var roundTrip = Duration.zero
    public var estimate = BitRate.zero
    /// "720", "360", … or "audio".
    public var rendition = ""
    /// The reason of the last change of the rendition.
    public var renditionReason = LinkReason.none
    /// "udp" or "tcp", and the peer's address.
    public var transport = ""
    public var audioDelay = Duration.zero
    public var concealed = Duration.zero
    public var freezes = 0
    /// Positive: audio is ahead of video.
    public var audioVideoOffset = Duration.zero
    public var isConnected = false
    public var milestones = JoinMilestones()
    /// Counts of what was refused of the participant.
    public var faults = PeerFaults()

    public init() {}
}
