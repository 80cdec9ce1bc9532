package import FoundationEssentials

/// What a room takes along to another server: all that its members have set and said, without media. The PIN and the URLs
/// of streams and inputs are secrets.
///
/// Its JSON is read tolerantly: members that are unknown, missing or broken count as not there.
package struct RoomState: Hashable, Sendable, Codable {
    enum CodingKeys: String, CodingKey {
        case version, needs, room, meeting, createdAt, savedAt, isReserved = "reserved", settings, seats, gone, removed,
            hosts, links, isOver = "over", chat
        case recordings, streams, inputs, breakout
    }

    /// Increases with each addition that other versions should know of. Nodes tell it as `NodeRecord.protocol`.
    package static let version = 1
    /// The lowest version whose servers do not misread a state of this one: those that a room may move to.
    package static let needs = 1
    /// The lowest version whose states this server reads.
    static let oldest = 1
    /// The most bytes of its JSON.
    package static let maxBytes = 512 << 10
    /// The age from which on a state says nothing about who is in the room. The states of running rooms are stored more
    /// often.
    package static let lifetime = TimeInterval(15 * 60)

    package var version = RoomState.version
    /// The lowest version that reads it; a state without it needs its own version.
    package var needs = RoomState.needs
    package var room: String
    /// The name of the room's meeting in tickets.
    package var meeting: String
    package var createdAt: Date
    package var savedAt: Date
    /// See `RoomRecord.isReserved`.
    package var isReserved = false
    package var settings = Settings()
    /// In the order of their joins.
    package var seats: [Seat] = []
    /// The ids of participants whose tickets are void.
    package var gone: [String] = []
    /// Who was removed from the meeting, the oldest first.
    package var removed: [Removal] = []
    /// The keys of the room's hosts; nil: there are none.
    package var hosts: HostKeys?
    package var links: [Link] = []
    /// The room has ended: only what outlives it counts (`KeptRoom`).
    package var isOver = false
    /// The oldest first.
    package var chat: [Message] = []
    /// Those that run or are paused, or wait to be gone on with.
    package var recordings: [Recording] = []
    package var streams: [Stream] = []
    package var inputs: [Input] = []
    package var breakout: Groups?

    init(room: String, meeting: String, createdAt: Date, savedAt: Date) {
        self.room = room
        self.meeting = meeting
        self.createdAt = createdAt
        self.savedAt = savedAt
    }

    func isStale(at now: Date) -> Bool { abs(now.timeIntervalSince(savedAt)) > Self.lifetime }

    /// How much of a stored state counts.
    enum Worth: Hashable, Sendable {
        /// All of it: the meeting goes on.
        case everything
        /// It is too old to say who is there, and the room was closed to strangers. It stays closed: PIN, lock and waiting
        /// room, the tickets of its people and the ids of those that were removed count; chat and outputs do not.
        case door
        /// The settings of a room that waits for its next meeting.
        case settings
        /// The meeting is over.
        case nothing
    }

    /// - Parameter isReserved: whether rooms of this server begin by the API only.
    func worth(_ settings: RoomSettings, isReserved: Bool, at now: Date) -> Worth {
        if isOver { return .nothing }
        if !isStale(at: now) { return .everything }
        if self.isReserved || isReserved { return .settings }
        return settings.locked || settings.pin != nil || settings.admit != .anyone ? .door : .nothing
    }

    package struct Settings: Hashable, Sendable, Codable {
        package var layout: String?
        package var onPresent: String?
        package var width: Int?
        package var height: Int?
        package var framesPerSecond: Int?
        package var locked: Bool?
        package var layoutLocked: Bool?
        package var admit: String?
        package var muteOnEntry: Bool?
        package var share: String?
        package var chat: String?
        package var unmute: String?
        package var pin: String?
        package var maxParticipants: Int?
        package var maxViewers: Int?
        package var hls: Bool?
        package var views: [String: View]?

        package init() {}
    }

    package struct View: Hashable, Sendable, Codable {
        package var layout: String?
        package var width: Int?
        package var height: Int?
        package var framesPerSecond: Int?
        package var names: Bool?
        package var renditions: [Rung]?
    }

    package struct Rung: Hashable, Sendable, Codable {
        package var height: Int
        package var framesPerSecond: Int?
        /// Bits per second.
        package var bitrate: Int
    }

    package struct Seat: Hashable, Sendable {
        package var id: String
        package var name: String
        package var role: Role
        /// See `AdmittedJoin.roleIsProven`.
        package var isProven = false
        /// The place among the members; not stored, since the list is in this order.
        var order = 0
        /// The member's own switches.
        package var audio = true
        package var video = true
        package var hand = false
        package var handOrder: Int?
        package var audioMuted = false
        package var videoMuted = false
        package var pinOrder: Int?
        package var volume = 1.0
        package var unrecordedBy: [String] = []
        package var view: String?
        package var ownLayout: String?
        package var ownPins: [String] = []
        package var identity: String?
        /// The name of its stored avatar.
        package var avatar: String?
        /// The digest of the key by which it is a host.
        package var hostKey: String?
        /// See `JoinRequest.mayHost`.
        package var mayHost = true
        /// See `JoinRequest.drawsSigns`.
        package var drawsSigns = false
    }

    /// The most removals that are taken along; the oldest are forgotten.
    package static let mostRemoved = 256

    /// What a client was removed by, see `Removals`.
    package struct Removal: Hashable, Sendable, Codable {
        package var identity: String?
        package var address: String?
        /// See `JoinClient.Device`.
        package var device: [String]?
        package var isRefused: Bool?
        package var comesBack: Bool?
    }

    package struct HostKeys: Hashable, Sendable, Codable {
        /// SHA-256 digests, in hexadecimal digits.
        package var keys: [String]
        /// Set by the API.
        package var given: Bool?
    }

    /// A guest link.
    package struct Link: Hashable, Sendable, Codable {
        package var id: String
        package var role: String
        package var expires: Date
        package var uses: Int?
        /// The digest of its secret.
        package var key: String
        package var used: Int?
        package var visits: [String]?
    }

    package struct Message: Hashable, Sendable, Codable {
        enum CodingKeys: String, CodingKey { case id, from, name, text, at, picture }

        package var id: String
        package var from: String
        package var name: String
        package var text: String
        package var at: Date
        package var picture: Picture?
    }

    package struct Picture: Hashable, Sendable, Codable {
        package var id: String
        package var type: String
        package var bytes: Int
    }

    package struct Recording: Hashable, Sendable, Codable {
        enum CodingKeys: String, CodingKey {
            case series, part, view, audioOnly, tracks, startedBy, isPaused = "paused", group
        }

        package var series: String
        /// The number of its part in the series, from 1 on.
        package var part = 1
        package var view: String?
        package var audioOnly = false
        package var tracks: Bool?
        package var startedBy: String?
        package var isPaused = false
        /// The number of its breakout group; nil: it is of the room itself.
        package var group: Int?
    }

    /// Breakout groups.
    package struct Groups: Hashable, Sendable, Codable {
        /// Those that are open; others are planned.
        package var isOpen: Bool
        /// In the order of their numbers.
        package var names: [String]
        package var mayChoose: Bool
        /// The numbers of the groups of participants.
        package var places: [String: Int]
        /// The seconds until everybody is back, when the state was saved.
        package var endsIn: Double?
        package var isEnding: Bool
        /// By the ids of moderators.
        package var hosts: [String: Host]
    }

    package struct Host: Hashable, Sendable, Codable {
        package var listensTo: [Int]
        package var looksInto: Int?
        package var speaksToAll: Bool
    }

    package struct Stream: Hashable, Sendable, Codable {
        package var url: String
        package var view: String?
        /// In seconds.
        package var keyframeInterval: Double?
    }

    package struct Input: Hashable, Sendable, Codable {
        enum CodingKeys: String, CodingKey { case url, name, loops }

        package var url: String
        package var name: String
        package var loops = false
    }
}
