import Basics

/// What one connection is to be.
public struct PeerConfiguration: Sendable {
    public enum Role: Sendable {
        /// ICE lite: waits at its candidates for the peer's checks.
        case server
        /// Checks the peer's candidates from its own addresses.
        case client
    }

    public var role: Role
    /// Server: the addresses at which peers reach us, best first.
    public var candidates: [Candidate] = []
    /// Client: the UDP addresses that our flows begin at, best first.
    public var localAddresses: [SocketAddress] = []

    /// What we are ready to do; nil rejects the kind.
    public var audio: Direction? = .sendReceive
    public var video: Direction? = .sendReceive
    public var acceptsDataChannels = true
    /// nil follows the offer's order.
    public var videoCodecs: [VideoCodec]?
    public var acceptsSimulcast = true
    /// Whether sound may be agreed on that carries earlier packets again (RFC 2198).
    public var takesRedundantAudio = true
    public var feedback: CodecFeedback = .all
    /// `b=` of our descriptions.
    public var audioBandwidth: BitRate?
    public var videoBandwidth: BitRate?
    public var isCompactOffer = false
    public var streamID = "tessera"

    public var bandwidth = BandwidthEstimatorConfiguration()
    public var ice = IceConfiguration()
    public var dtls = DTLSConfiguration()
    public var videoReceive = VideoReceiveConfiguration()
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
    public var initialNumbers: InitialNumbers?

    public init(role: Role) {
        self.role = role
    }
}
