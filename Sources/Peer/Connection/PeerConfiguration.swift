public import Basics

/// The settings of one connection.
public struct PeerConfiguration: Sendable {
    /// Which end of ICE the connection is.
    public enum Role: Sendable {
        /// ICE lite: the connection answers the peer's checks at its candidates.
        case server
        /// The connection checks the peer's candidates from its own addresses.
        case client
    }

    /// The connection's ICE role.
    public var role: Role
    /// Server: the addresses at which peers reach us, best first.
    public var candidates: [Candidate] = []
    /// Client: the local UDP addresses of our flows, best first.
    public var localAddresses: [SocketAddress] = []

    /// The audio direction that we offer and accept; nil rejects audio.
    public var audio: Direction? = .sendReceive
    /// The same for video.
    public var video: Direction? = .sendReceive
    /// Whether a second video section is accepted, on which the peer only sends: its screen.
    public var acceptsScreen = false
    /// Whether a section for data channels is accepted, and offered.
    public var acceptsDataChannels = true
    /// The codecs that we accept, in our order of preference; nil follows the offer's order.
    public var videoCodecs: [VideoCodec]?
    /// Whether an offer to send simulcast (RFC 8853) is accepted; the connection then takes one layer at a time.
    public var acceptsSimulcast = true
    /// Whether audio that repeats earlier packets (RFC 2198) may be negotiated.
    public var takesRedundantAudio = true
    /// The RTCP feedback that may be negotiated.
    public var feedback: CodecFeedback = .all
    /// `b=` of audio in our descriptions.
    public var audioBandwidth: BitRate?
    /// The same for video.
    public var videoBandwidth: BitRate?
    /// Whether our offers omit what a peer can do without, such as RTX, for signalling in small messages.
    public var isCompactOffer = false
    /// The media stream that our tracks belong to (`a=msid`, RFC 8830).
    public var streamID = "tessera"

    /// Bounds and start of the estimate of what the path to the peer carries.
    public var bandwidth = BandwidthEstimatorConfiguration()
    /// Times and limits of ICE.
    public var ice = ICEConfiguration()
    /// Times and limits of the DTLS handshake.
    public var dtls = DTLSConfiguration()
    /// Times and limits of video repair.
    public var videoReceive = VideoReceiveConfiguration()
    /// Limits on the work that the peer may cause.
    public var budget = PeerBudget()
    /// Limits on the peer's data channels.
    public var channelBudget = DataChannelBudget()
    /// The most that the peer may send us while nobody set a tighter limit.
    public var receiveLimit: BitRate = .megabits(2.5)
    /// Whether the peer's sender reports say at which time a picture is to be shown, also where it arrives before that
    /// time: those of a Tessera server do. Other senders' packets that arrive before their time show that its reports are
    /// late.
    public var trustsReports = false
    /// Unix time minus monotonic time, for sender reports.
    public var wallClockOffset: Duration = .zero

    /// For tests: makes every run draw the same random values. nil draws from the system.
    public var seed: UInt64?
    /// For tests: initial sequence numbers just before a wrap.
    package var initialNumbers: InitialNumbers?

    /// A configuration with defaults for everything but the role; a server needs `candidates`, a client
    /// `localAddresses`.
    public init(role: Role) {
        self.role = role
    }
}
