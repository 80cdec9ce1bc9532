public import Basics

/// The counters and measurements of one connection, both ways.
public struct PeerStatistics: Sendable {
    /// Received audio.
    public var audioReceived = ReceivedStatistics()
    /// Received video.
    public var videoReceived = ReceivedStatistics()
    /// The received screen.
    public var screenReceived = ReceivedStatistics()
    /// Sent audio.
    public var audioSent = SentStatistics()
    /// Sent video.
    public var videoSent = SentStatistics()
    /// The estimated rate of the peer's link, or a lower limit that the peer requests.
    public var estimate = BitRate.zero
    /// The lost share of our packets, 0 to 1, by transport-wide feedback or receiver reports.
    public var lossFraction = 0.0
    /// Smoothed; nil while not connected.
    public var roundTrip: Duration?
    /// How long the oldest packet has waited for the pacer.
    public var pacerQueue = Duration.zero
    /// Bytes of frames that wait for the pacer.
    public var pacerBytes = 0
    /// The most that the peer may send.
    public var receiveLimit = BitRate.zero
    /// The path in use; nil without one.
    public var flow: Flow?
    /// The SRTP profile; nil before the handshake is done.
    public var srtpProfile: SRTPProfile?
    /// Packets that were encrypted and decrypted.
    public var srtp = SRTPStatistics()
    /// The counters of the DTLS transport.
    public var dtls = DTLSStatistics()
    /// The counters of the data channels.
    public var channels = DataChannelStatistics()
    /// Datagrams that were dropped: unknown, from a flow that is not validated, or before the keys.
    public var droppedDatagrams = 0
    /// Authentic packets of media that could not be parsed.
    public var malformedPackets = 0
    /// Datagrams that were dropped unread because the peer went over its ``PeerBudget``.
    public var overBudgetDatagrams = 0
    /// Datagrams of reports whose remainder was skipped for the same reason.
    public var skippedReports = 0
    /// Packets that were dropped undecrypted, for an SSRC that has no stream and gets none.
    public var refusedSources = 0
    /// SSRCs that have a stream.
    public var sources = 0
    /// SSRCs that lost their stream to newer ones.
    public var forgottenSources = 0
    /// STUN messages that were dropped: not authentic, for no known user fragment, or too many.
    public var ignoredChecks = 0
    /// Datagrams that were not sent because the destination was not validated yet and had not sent enough.
    public var unansweredDatagrams = 0

    /// When the connection was made.
    public var milestones = PeerMilestones()

    /// Makes statistics of zero.
    public init() {}
}
