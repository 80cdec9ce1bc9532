import Basics

/// What one connection counted, both ways.
public struct PeerStatistics: Sendable {
    /// The sound that came in.
    public var audioReceived = ReceivedStatistics()
    /// The picture that came in.
    public var videoReceived = ReceivedStatistics()
    /// The sound that went out.
    public var audioSent = SentStatistics()
    /// The picture that went out.
    public var videoSent = SentStatistics()
    /// What the peer's line carries.
    public var estimate = BitRate.zero
    /// Of transport-wide feedback.
    public var lossFraction = 0.0
    /// Smoothed; nil while not connected.
    public var roundTrip: Duration?
    /// How long the oldest packet has waited for the pacer.
    public var pacerQueue = Duration.zero
    /// Bytes of frames that wait for the pacer.
    public var pacerBytes = 0
    /// What the peer is to send at most.
    public var receiveLimit = BitRate.zero
    /// The path in use; nil without one.
    public var flow: Flow?
    /// How media is encrypted; nil before the handshake is done.
    public var srtpProfile: SRTPProfile?
    /// Packets that were encrypted and decrypted.
    public var srtp = SRTPStatistics()
    /// What the DTLS transport counted.
    public var dtls = DTLSStatistics()
    /// What the data channels counted.
    public var channels = DataChannelStatistics()
    /// Datagrams that were dropped: unknown, from an unvalidated flow, or before the keys.
    public var droppedDatagrams = 0
    /// Authentic packets of media that could not be parsed.
    public var malformedPackets = 0
    /// Datagrams that were dropped unread because the peer went over its ``PeerBudget``.
    public var overBudgetDatagrams = 0
    /// Datagrams of reports whose rest was left unread for the same reason.
    public var skippedReports = 0
    /// Packets that were dropped undecrypted, for an SSRC that has no stream and gets none.
    public var refusedSources = 0
    /// SSRCs that have a stream, and those that lost it.
    public var sources = 0
    /// SSRCs that lost their stream to newer ones.
    public var forgottenSources = 0
    /// STUN messages that were dropped: not authentic, of nobody's, or too many.
    public var ignoredChecks = 0
    /// Datagrams that were not sent because their destination had not answered yet and had brought too little.
    public var unansweredDatagrams = 0

    /// Nothing counted yet.
    public init() {}
}
