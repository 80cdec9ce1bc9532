public import FoundationEssentials

/// What a room takes along to another server: all that its members have set and said, without media. The PIN and the URLs
/// of streams and inputs are secrets.
///
/// Its JSON is read tolerantly: members that are unknown, missing or broken count as not there.
public struct RoomState: Hashable, Sendable, Codable {
    enum CodingKeys: String, CodingKey {
        case version, room, meeting, createdAt, savedAt, isReserved = "reserved", settings, seats, gone, chat
        case recordings, streams, inputs
    }

    /// Increases where an older server would misread a newer state.
    public static let version = 1
    /// The most bytes of its JSON.
    public static let maxBytes = 512 << 10
    /// The age from which on a state says nothing about who is in the room. The states of running rooms are stored more
    /// often.
    public static let lifetime = TimeInterval(15 * 60)

    public var version = RoomState.version
    public var room: String
    /// The name of the room's meeting in tickets.
    public var meeting: String
    public var createdAt: Date
    public var savedAt: Date
    /// See `RoomSlot.isReserved`.
    public var isReserved = false
    public var settings = Settings()
    /// In the order of their joins.
    public var seats: [Seat] = []
    /// The ids of participants whose tickets are void.
    public var gone: [String] = []
    /// The oldest first.
    public var chat: [Message] = []
    /// Those that run or are paused, or wait to be gone on with.
    public var recordings: [Recording] = []
    public var streams: [Stream] = []
    public var inputs: [Input] = []

    init(room: String, meeting: String, createdAt: Date, savedAt: Date) {
        self.room = room
        self.meeting = meeting
        self.createdAt = createdAt
        self.savedAt = savedAt
    }

    func isStale(at now: Date) -> Bool { abs(now.timeIntervalSince(savedAt)) > Self.lifetime }

    public struct Settings: Hashable, Sendable, Codable {
        public var layout: String?
        public var onPresent: String?
        public var width: Int?
        public var height: Int?
        public var framesPerSecond: Int?
        public var locked: Bool?
        public var layoutLocked: Bool?
        public var admit: String?
        public var pin: String?
        public var maxParticipants: Int?
        public var maxViewers: Int?
        public var hls: Bool?
        public var views: [String: View]?

        public init() {}
    }

    public struct View: Hashable, Sendable, Codable {
        public var layout: String?
        public var width: Int?
        public var height: Int?
        public var framesPerSecond: Int?
        public var names: Bool?
        public var renditions: [Rung]?
    }

    public struct Rung: Hashable, Sendable, Codable {
        public var height: Int
        public var framesPerSecond: Int?
        /// Bits per second.
        public var bitrate: Int
    }

    public struct Seat: Hashable, Sendable {
        public var id: String
        public var name: String
        public var role: Role
        /// See `JoinRequest.roleIsProven`.
        public var isProven = false
        /// The place among the members; not stored, since the list is in this order.
        var order = 0
        /// The member's own switches.
        public var audio = true
        public var video = true
        public var hand = false
        public var audioMuted = false
        public var videoMuted = false
        public var pinOrder: Int?
        public var volume = 1.0
        public var unrecordedBy: [String] = []
        public var view: String?
        public var ownLayout: String?
        public var ownPins: [String] = []
        public var identity: String?
        /// The name of its stored avatar.
        public var avatar: String?
    }

    public struct Message: Hashable, Sendable, Codable {
        enum CodingKeys: String, CodingKey { case id, from, name, text, at, picture }

        public var id: String
        public var from: String
        public var name: String
        public var text: String
        public var at: Date
        public var picture: Picture?
    }

    public struct Picture: Hashable, Sendable, Codable {
        public var id: String
        public var type: String
        public var bytes: Int
    }

    public struct Recording: Hashable, Sendable, Codable {
        enum CodingKeys: String, CodingKey {
            case series, part, view, audioOnly, tracks, startedBy, isPaused = "paused"
        }

        public var series: String
        /// The number of its part in the series, from 1 on.
        public var part = 1
        public var view: String?
        public var audioOnly = false
        public var tracks: Bool?
        public var startedBy: String?
        public var isPaused = false
    }

    public struct Stream: Hashable, Sendable, Codable {
        public var url: String
        public var view: String?
        /// In seconds.
        public var keyframeInterval: Double?
    }

    public struct Input: Hashable, Sendable, Codable {
        enum CodingKeys: String, CodingKey { case url, name, loops }

        public var url: String
        public var name: String
        public var loops = false
    }
}
