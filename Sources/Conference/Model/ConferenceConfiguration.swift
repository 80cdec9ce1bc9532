public import Basics
public import RoomMedia
public import Streaming

/// The configuration of a conference server. The defaults are enough for a call between two people and its recording.
public struct ConferenceConfiguration: Sendable {
    public var media = Media()
    public var rooms = Rooms()
    public var video = Video()
    public var audio = Audio()
    public var recording = Recording()
    public var streams = Streams()
    public var inputs = Inputs()
    public var pictures = Pictures()
    public var limits = Limits()
    /// The directory of stored avatars; created with the first of them.
    public var avatarsDirectory = "data/avatars"
    /// The directory of `NAME.json` layouts; read at start and watched.
    public var layoutsDirectory = "layouts"
    /// Makes the secrets of seats, which are tickets for other servers at the same time; nil: secrets are random.
    public var seatSecrets: (any SeatSecrets)?
    /// The server's URL as clients know it, such as `https://meet.example`, for links in messages; empty: unknown.
    public var publicURL = ""
    /// The number of threads that decode, compose and encode; nil: as many as processors.
    public var workers: Int?
    /// The number of rooms, the busiest ones, that have series of their own in the metrics; 0: none has.
    public var roomsInMetrics = 50
    /// The number of threads that mix and encode audio, each for its rooms; nil: by the number of processors.
    public var audioThreads: Int?
    /// Whether an overload makes pictures cheaper, then fewer, then refuses rooms; benchmarks turn this off, since they
    /// need the same work on every machine.
    public var savesWorkWhenOverloaded = true

    public init() {}

    /// The sockets that all peers share.
    public struct Media: Sendable {
        /// A UDP socket is bound for each; port 0 lets the system choose.
        public var udp: [SocketAddress] = [SocketAddress(.v4(0), port: 50000)]
        /// A TCP listener (RFC 4571 framing) for each; empty: no TCP candidates.
        public var tcp: [SocketAddress] = [SocketAddress(.v4(0), port: 50000)]
        /// The addresses of the server's candidates; empty: those of this machine's interfaces.
        public var announce: [IPAddress] = []
        /// The number of network loops that serve the peers, all behind these sockets; nil: by the number of
        /// processors.
        public var loops: Int?
        public init() {}
    }

    public struct Rooms: Sendable, Equatable {
        public enum Creation: String, Sendable, CaseIterable { case onJoin, api }
        /// The settings of a new room.
        public var settings = RoomSettings()
        /// A room without anyone ends after this.
        public var emptyTimeout: Duration = .seconds(30)
        /// Whether a join creates the room, or only `createRoom` does.
        public var create = Creation.onJoin
        /// The settings of new rooms by their names.
        public var presets = RoomPresets()
        public init() {}
    }

    public struct Video: Sendable, Equatable {
        /// The codecs that are offered to peers, best first.
        public var codecs: [VideoCodec] = [.h264, .vp8]
        /// The ladder, from the top down.
        public var renditions = RoomMediaConfiguration.Rung.standard
        public init() {}
    }

    public typealias Rung = RoomMediaConfiguration.Rung
    public typealias Audio = RoomMediaConfiguration.Audio

    public struct Recording: Sendable, Equatable {
        public enum Start: String, Sendable, CaseIterable { case manual, onFirstJoin }
        public enum Audio: String, Sendable, CaseIterable { case aac, opus }
        public var directory = "recordings"
        /// The node of a cluster: ids begin with it, so that every node knows whose recording one is. Empty: there is
        /// none.
        public var node = ""
        public var start = Start.manual
        /// A new file begins after this; zero: one file.
        public var segment: Duration = .zero
        /// The length and the bytes of all files at which a recording ends; zero: none.
        public var maxLength: Duration = .zero
        public var maxSize = 0
        public var audio = Audio.aac
        /// The time before its start that a recording has too; zero: nothing is kept.
        public var preRoll: Duration = .zero
        /// Bytes of the disk that recordings leave free: below that none starts, and running ones are closed.
        public var minimumFree = 1 << 30
        /// How many recordings may be started in one room within a minute.
        public var startsPerMinute = 12
        /// Whether recordings have the tracks of each participant, where their start does not say.
        public var tracks = false
        /// How many recordings of one room may run at once.
        public var perRoom = 8
        /// The program that delivers each complete recording, and its arguments (`DeliveryCommand`); empty: none.
        public var onFinished: [String] = []
        /// The longest run of that program, and how long failed runs are repeated.
        public var deliveryLimit = Duration.seconds(6 * 3600)
        public var retryFor = Duration.seconds(72 * 3600)
        /// The age at which recordings are removed; zero: none is.
        public var keep: Duration = .zero
        /// The bytes of all recordings together above which the oldest are removed; 0: none is.
        public var maxBytes = 0
        public init() {}
    }

    /// The sources that may be pulled into rooms.
    public struct Inputs: Sendable, Equatable {
        /// `file` stands for the paths of files below `directory`.
        public enum Scheme: String, Sendable, CaseIterable { case srt, rtmp, rtsp, http, https, file }
        public var schemes = Scheme.allCases
        /// Empty: every host with a public address.
        public var hosts: [HostPattern] = []
        /// Empty: no file is read.
        public var directory = ""
        public var maxPerRoom = 4
        /// Pictures with more pixels are not decoded.
        public var maxPixels = 1920 * 1088
        /// How long a lost source is tried again.
        public var retryFor: Duration = .seconds(600)
        public init() {}

        /// The largest value of `maxPixels`: with more no decoder starts.
        public static let mostPixels = 4096 * 4096
    }

    /// The stored pictures of chats.
    public struct Pictures: Sendable, Equatable {
        /// Created with the first picture.
        public var directory = "data/pictures"
        /// The most bytes of all pictures together; the oldest are deleted.
        public var maxBytes = 1 << 30
        public init() {}
    }

    /// The limits of all clients together and of one client's address.
    ///
    /// Each has a metric `tessera_limit{name}` (see `Conference.metrics`). A request beyond a limit throws
    /// `ConferenceError.atCapacity` or `ConferenceError.tooFast`.
    public struct Limits: Sendable, Equatable {
        /// Rooms in total, and rooms that joins of one address created.
        public var rooms = 200
        public var roomsPerAddress = 20
        /// Participants and viewers in all rooms. An address may be that of a whole office.
        public var seats = 1000
        public var seatsPerAddress = 200
        /// Seats whose peer has not connected yet.
        public var halfOpen = 200
        public var halfOpenPerAddress = 40
        /// Those who wait to be let into rooms (`RoomSettings.admit`).
        public var waiting = 500
        public var waitingPerAddress = 30
        /// Views that a room may show beside `main` and the recorded one: named views in use, and participants' own
        /// choices.
        public var viewsPerRoom = 6
        /// Media connections over TCP, on all listeners.
        public var mediaConnections = 1024
        public var mediaConnectionsPerAddress = 64
        /// The share of one core that a loop spends on one peer in the long run; a peer that stays above it is
        /// throttled, then ended.
        public var loopShare = 0.2
        /// Pixels a second that are decoded for one sender, and for all senders together.
        public var decodedPixelsPerSecond = 1920 * 1088 * 60
        public var decodedPixelsPerSecondInAll = 40 * 1280 * 720 * 30
        public init() {}
    }
}
