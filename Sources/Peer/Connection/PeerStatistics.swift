import Basics

/// What one connection counted, both ways.
public struct PeerStatistics: Sendable {
    /// One kind as it comes in.
    public struct Received: Sendable {
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

    /// One kind as it goes out.
    public struct Sent: Sendable {
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

    public var audioReceived = Received()
    public var videoReceived = Received()
    public var audioSent = Sent()
    public var videoSent = Sent()
    /// What the peer's line carries.
    public var estimate = BitRate.zero
    /// Of transport-wide feedback.
    public var lossFraction = 0.0
    public var roundTrip: Duration?
    public var pacerQueue = Duration.zero
    public var pacerBytes = 0
    public var receiveLimit = BitRate.zero
    public var flow: Flow?
    public var srtpProfile: SRTPProfile?
    public var srtp = SRTPStatistics()
    public var dtls = DTLSStatistics()
    public var channels = DataChannelStatistics()
    /// Datagrams that were dropped: unknown, from an unvalidated flow, or before the keys.
    public var droppedDatagrams = 0
    public var malformedPackets = 0
    /// Datagrams that were dropped unread because the peer went over its ``PeerBudget``.
    public var overBudgetDatagrams = 0
    /// Datagrams of reports whose rest was left unread for the same reason.
    public var skippedReports = 0
    /// Packets that were dropped undecrypted, for an SSRC that has no stream and gets none.
    public var refusedSources = 0
    /// SSRCs that have a stream, and those that lost it.
    public var sources = 0
    public var forgottenSources = 0
    /// STUN messages that were dropped: not authentic, of nobody's, or too many.
    public var ignoredChecks = 0
    /// Datagrams that were not sent because their destination had not answered yet and had brought too little.
    public var unansweredDatagrams = 0

    public init() {}
}
