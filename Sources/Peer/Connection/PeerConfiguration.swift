import Basics

/// What one connection is to be.
public struct PeerConfiguration: Sendable {
    /// Which end of ICE the connection is.
    public enum Role: Sendable {
        /// ICE lite: waits at its candidates for the peer's checks.
        case server
        /// Checks the peer's candidates from its own addresses.
        case client
    }

    /// Which end of ICE it is.
    public var role: Role
    /// Server: the addresses at which peers reach us, best first.
    public var candidates: [Candidate] = []
    /// Client: the UDP addresses that our flows begin at, best first.
    public var localAddresses: [SocketAddress] = []

    /// What we are ready to do; nil rejects the kind.
    public var audio: Direction? = .sendReceive
    /// The same for the picture.
    public var video: Direction? = .sendReceive
    /// Whether a section for data channels is accepted, and offered.
    public var acceptsDataChannels = true
    /// nil follows the offer's order.
    public var videoCodecs: [VideoCodec]?
    /// Whether an offer to send simulcast (RFC 8853) is accepted; the connection then takes one layer at a time.
    public var acceptsSimulcast = true
    /// Whether sound may be agreed on that carries earlier packets again (RFC 2198).
    public var takesRedundantAudio = true
    /// The RTCP feedback that may be agreed on.
    public var feedback: CodecFeedback = .all
    /// `b=` of our descriptions.
    public var audioBandwidth: BitRate?
    /// The same for the picture.
    public var videoBandwidth: BitRate?
    /// Whether our offers leave out what a peer can do without, such as stream names, for signalling in small messages.
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
    /// What the peer may make the connection do.
    public var budget = PeerBudget()
    /// How much the peer's data channels deliver.
    public var channelBudget = DataChannelBudget()
    /// What the peer may send us while nobody set a tighter limit.
    public var receiveLimit: BitRate = .megabits(2.5)
    /// Unix time minus monotonic time, for sender reports.
    public var wallClockOffset: Duration = .zero

    /// For tests: what follows from it is the same in every run. nil draws from the system.
    public var seed: UInt64?
    /// For tests: numbers just before a wrap.
    package var initialNumbers: InitialNumbers?

    /// A configuration with defaults for everything but the role; a server needs `candidates`, a client
    /// `localAddresses`.
    public init(role: Role) {
        self.role = role
    }
}
