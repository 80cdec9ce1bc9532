public import Basics

/// Whom a seat is counted for.
public struct JoinClient: Hashable, Sendable {
    /// Where the request came from; behind a trusted proxy the address that the proxy names.
    public var address: IPAddress?
    /// Who a verified token says that they are; nil without one.
    public var identity: String?

    public init(address: IPAddress? = nil, identity: String? = nil) {
        self.address = address
        self.identity = identity
    }
}

/// Who wants to come in, and how.
public struct JoinRequest: Hashable, Sendable {
    public enum Kind: String, Sendable {
        /// Sends and receives.
        case participant
        /// Receives only and is not shown.
        case viewer
    }

    public var room: String
    public var name: String
    public var role: Role
    /// Somebody who may say so gave the role; who only asks for it cannot pass a locked door with it.
    public var roleIsProven = true
    /// Sets the layout of the room when the joiner may; nil: as it is.
    public var layout: String?
    public var kind: Kind
    /// A viewer gets this participant's own mix: its picture, and the sound without its voice.
    public var asParticipant: String?
    /// Data channels that the server opens towards the peer as soon as it can (clients that talk on the peer's channel
    /// only).
    public var opensChannels: [String] = []
    /// Data channel messages of others come as events too.
    public var receivesMessages = false
    /// The seat is freed as soon as the peer's media ends, not only when signalling says so (WHIP, WHEP).
    public var endsWithMedia = false
    /// Whom the seat, and a room made for it, are counted for.
    public var client = JoinClient()
    /// Whether the door tells when its signalling is lost; false: ICE alone decides.
    public var hasSignalling = true

    public init(
        room: String, name: String, role: Role = .participant, layout: String? = nil, kind: Kind = .participant,
        asParticipant: String? = nil
    ) {
        self.room = room
        self.name = name
        self.role = role
        self.layout = layout
        self.kind = kind
        self.asParticipant = asParticipant
    }
}
