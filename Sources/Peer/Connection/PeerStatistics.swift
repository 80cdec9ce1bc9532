import Basics

/// What one connection counted, both ways.
public struct PeerStatistics: Sendable {
    public var audioReceived = ReceivedStatistics()
    public var videoReceived = ReceivedStatistics()
    public var audioSent = SentStatistics()
    public var videoSent = SentStatistics()
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
