package import Basics

/// The client for whose limits a seat counts.
package struct JoinClient: Hashable, Sendable {
    /// The address of the request; behind a trusted proxy the address that the proxy names.
    package var address: IPAddress?
    /// The identity in a verified token; nil without one.
    package var identity: String?
    /// What the endpoint knows the client by when it comes back; nil: nothing.
    package var device: Device?

    /// A client's device or account, as its endpoint knows it.
    package struct Device: Hashable, Sendable {
        /// Any of these shows that it is the same one.
        package var keys: Set<String>
        /// Whether it is refused after a removal, since its app would offer again at once.
        package var isRefused: Bool
        /// Whether its app comes back by itself.
        package var comesBack: Bool

        package init(_ keys: Set<String>, isRefused: Bool = false, comesBack: Bool = false) {
            (self.keys, self.isRefused, self.comesBack) = (keys, isRefused, comesBack)
        }

        func matches(_ other: Device) -> Bool { !keys.isDisjoint(with: other.keys) }
    }

    /// What the kept places of limits are to it.
    package var standing = ShareStanding.stranger

    package init(address: IPAddress? = nil, identity: String? = nil) {
        self.address = address
        self.identity = identity
    }

    /// An administrator, or the server itself.
    package static let administrator: JoinClient = {
        var client = JoinClient()
        client.standing = .administrator
        return client
    }()

    /// The client as one who has a seat.
    var inside: JoinClient {
        var client = self
        if standing == .stranger { client.standing = .inside }
        return client
    }
}

/// What the clients of a family need of their peer connection beside what they offer.
package struct MediaPreferences: Hashable, Sendable {
    /// The video codecs in the order of preference; nil: the server's.
    package var videoCodecs: [VideoCodec]?
    /// Whether the server's offer omits what the client can do without, for signalling in small messages.
    package var isCompactOffer = false
    /// Whether DTLS 1.0 and old ciphers are taken (`doors.legacyDTLS`).
    package var allowsLegacyDTLS = false
    /// Labels of the data channels that the server opens to the peer after it connects, for clients that use only
    /// channels which the server opened.
    package var opensChannels: [String] = []

    package init() {}
}

/// A request for a seat in a room.
package struct JoinRequest: Hashable, Sendable {
    package enum Kind: String, Sendable {
        /// Sends and receives.
        case participant
        /// Receives only and is not shown.
        case viewer
        /// A source that the server pulls (`Conference.addInput`): sends only, and has no client.
        case input
    }

    package var room: String
    package var name: String
    package var role: Role
    /// Whether the client has native signalling, by which it can moderate: in a room without tokens the first such
    /// participant is the moderator.
    package var isNative = false
    /// Whether the client may become the moderator by being first, or as an heir; false for bots, which have nobody who
    /// moderates.
    package var mayHost = true
    /// The key by which a host comes back, as the client gave it.
    package var hostKey: String?
    /// What the client shows that comes by a guest link.
    package var guestPass: GuestPass?
    /// What the client's browser calls itself, so that a guest who comes back does not count again.
    package var visit: String?
    /// The room's PIN, as the client gave it.
    package var pin: String?
    /// The id of a wait that ended with `WaitingEnd.admitted`.
    package var admission: String?
    /// The layout that the participant wants to see: of the room where this join creates it and the participant may,
    /// otherwise a choice of its own; nil: the room's.
    package var layout: String?
    /// The named view that the participant wants to see; nil: `main`, or that of `asParticipant`.
    package var view: String?
    /// Whether a view that cannot be shown now (a limit, overload) refuses the join; otherwise it gets `main`.
    package var insistsOnView = false
    /// Whether the client itself draws the names of tiles whose `label` is false, and the signs of who is muted or raises a
    /// hand.
    package var drawsSigns = false
    package var kind: Kind
    /// The name of the stored avatar in the token; nil: none.
    package var avatar: String?
    /// A viewer gets this participant's picture and its audio mix, which leaves out the participant's voice.
    package var asParticipant: String?
    /// Who decided that the participant is not recorded: itself, its token, or both.
    package var unrecordedBy: Set<RecordingRefusal> = []
    package var media = MediaPreferences()
    /// The label of the data channel by which the client gets and sends chat, such as `WebRTCData`; nil: the client gets
    /// chat as events, and its endpoint sends it.
    package var chatChannel: String?
    /// Whether the seat ends with the peer's media connection, not only by signalling (WHIP, WHEP).
    package var endsWithMedia = false
    /// The client for whose limits the seat, and a room created for it, count.
    package var client = JoinClient()
    /// Whether the endpoint reports the loss of signalling; false: only ICE shows that the client is gone.
    package var hasSignalling = true

    package init(
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
