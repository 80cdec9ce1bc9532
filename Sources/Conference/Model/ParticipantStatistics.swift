public import Basics
public import RoomMedia

/// What is received from and sent to one participant.
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
        /// 0 … 1, lately.
        public var loss = 0.0
        public var jitter = Duration.zero
        public var nacks = 0
        public var keyframeRequests = 0
        public var retransmitted = 0
        public init() {}
    }

    public var receivedAudio = Stream()
    public var receivedVideo = Stream()
    public var sentAudio = Stream()
    public var sentVideo = Stream()
    public var roundTrip = Duration.zero
    public var estimate = BitRate.zero
    /// "720", "360", … or "audio".
    public var rendition = ""
    /// Why that one.
    public var renditionReason = LinkReason.none
    /// "udp" or "tcp", and where the peer is.
    public var transport = ""
    public var audioDelay = Duration.zero
    public var concealed = Duration.zero
    public var freezes = 0
    /// Audio before video is positive.
    public var audioVideoOffset = Duration.zero
    public var isConnected = false
    /// What of the participant's was not taken.
    public var faults = PeerFaults()

    public init() {}
}
