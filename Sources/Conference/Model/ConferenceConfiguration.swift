public import Basics
public import RoomMedia

/// Everything that a conference server can be told. The defaults hold a call between two people and record it.
public struct ConferenceConfiguration: Sendable {
    public var media = Media()
    public var rooms = Rooms()
    public var video = Video()
    public var audio = Audio()
    public var recording = Recording()
    public var limits = Limits()
    /// Where `NAME.json` layouts lie; read at start and watched.
    public var layoutsDirectory = "layouts"
    /// How many threads decode, compose and encode; nil: as many as processors.
    public var workers: Int?
    /// How many threads mix and encode sound, each for its rooms; nil: by the number of processors.
    public var audioThreads: Int?
    /// Whether an overload makes pictures cheaper, then fewer, then refuses rooms; a benchmark wants the same work
    /// whatever the machine.
    public var savesWorkWhenOverloaded = true

    public init() {}

    /// The sockets that all peers share.
    public struct Media: Sendable {
        /// A UDP socket is bound for each; port 0 lets the system choose.
        public var udp: [SocketAddress] = [SocketAddress(.v4(0), port: 50000)]
        /// A TCP listener (RFC 4571 framing) for each; empty: no TCP candidates.
        public var tcp: [SocketAddress] = [SocketAddress(.v4(0), port: 50000)]
        /// The addresses to name in candidates; empty: those of this machine's interfaces.
        public var announce: [IPAddress] = []
        /// How many threads serve the peers, all behind these sockets; nil: by the number of processors.
        public var loops: Int?
        public init() {}
    }

    public struct Rooms: Sendable {
        public enum Creation: String, Sendable, CaseIterable { case onJoin, api }
        /// What a room starts with.
        public var settings = RoomSettings()
        /// A room without anyone ends after this.
        public var emptyTimeout: Duration = .seconds(30)
        /// Whether a join makes the room, or only `createRoom` does.
        public var create = Creation.onJoin
        public init() {}
    }

    public struct Video: Sendable {
        /// What is offered to peers, best first.
        public var codecs: [VideoCodec] = [.h264, .vp8]
        /// The ladder, from the top down.
        public var renditions = RoomMediaConfiguration.Rung.standard
        public init() {}
    }

    public typealias Rung = RoomMediaConfiguration.Rung
    public typealias Audio = RoomMediaConfiguration.Audio

    public struct Recording: Sendable {
        public enum Start: String, Sendable, CaseIterable { case manual, onFirstJoin }
        public enum Audio: String, Sendable, CaseIterable { case aac, opus }
        public var directory = "recordings"
        public var start = Start.manual
        /// A new file begins after this; zero: one file.
        public var segment: Duration = .zero
        public var audio = Audio.aac
        /// Bytes of the disk that recordings leave free: below it none starts, and running ones are closed.
        public var minimumFree = 1 << 30
        /// How many recordings may be started in one room within a minute.
        public var startsPerMinute = 6
        public init() {}
    }

    /// What all clients together, and one client's address, may have of the server at once.
    ///
    /// Each has a metric `tessera_limit{name}` (see `Conference.metrics`). One too many is answered with
    /// `ConferenceError.atCapacity` or `ConferenceError.tooFast`.
    public struct Limits: Sendable, Equatable {
        /// Rooms in all, and rooms that joins of one address made.
        public var rooms = 200
        public var roomsPerAddress = 20
        /// Participants and viewers in all rooms. An address may be that of a whole office.
        public var seats = 1000
        public var seatsPerAddress = 200
        /// Seats whose peer did not connect yet.
        public var halfOpen = 200
        public var halfOpenPerAddress = 40
        /// Pictures of its own composing that a room may have beside the one for all.
        public var viewsPerRoom = 4
        /// Media connections over TCP, on all listeners.
        public var mediaConnections = 1024
        public var mediaConnectionsPerAddress = 64
        /// The share of one core that the loop spends on one peer, lastingly; whoever stays above it is throttled, then
        /// ended.
        public var loopShare = 0.2
        /// Pixels a second that are decoded for one sender, and for all senders together.
        public var decodedPixelsPerSecond = 1920 * 1088 * 60
        public var decodedPixelsPerSecondInAll = 40 * 1280 * 720 * 30
        public init() {}
    }
}
