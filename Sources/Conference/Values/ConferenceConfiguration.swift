package import Basics
package import RoomMedia
package import Streaming

/// The configuration of a conference server. The defaults are enough for a call between two people and its recording.
package struct ConferenceConfiguration: Sendable {
    package var media = Media()
    package var rooms = Rooms()
    package var video = Video()
    package var audio = Audio()
    package var recording = Recording()
    package var streams = Streams()
    package var inputs = Inputs()
    package var pictures = Pictures()
    package var limits = Limits()
    /// The directory of stored avatars; created with the first of them.
    package var avatarsDirectory = "data/avatars"
    /// The directory of `NAME.json` layouts; read at start and watched.
    package var layoutsDirectory = "layouts"
    /// Makes the secrets of seats, which are tickets for other servers at the same time; nil: secrets are random.
    package var seatSecrets: (any SeatSecrets)?
    /// The file with the hosts of rooms, for the next run of the server; nil: a restart forgets them.
    package var roomsFile: String?
    /// The server's URL as clients know it, such as `https://meet.example`, for links in messages; empty: unknown.
    package var publicURL = ""
    /// The number of threads that decode, compose and encode; nil: as many as processors.
    package var workers: Int?
    /// The number of rooms, the busiest ones, that have series of their own in the metrics; 0: none has.
    package var roomsInMetrics = 50
    /// The number of threads that mix and encode audio, each for its rooms; nil: by the number of processors.
    package var audioThreads: Int?
    /// Whether an overload makes pictures cheaper, then fewer, then refuses rooms; benchmarks turn this off, since they
    /// need the same work on every machine.
    package var savesWorkWhenOverloaded = true

    package init() {}

    /// The sockets that all peers share.
    package struct Media: Sendable {
        /// A UDP socket is bound for each; port 0 lets the system choose.
        package var udp: [SocketAddress] = [SocketAddress(.v4(0), port: 50000)]
        /// A TCP listener (RFC 4571 framing) for each; empty: no TCP candidates.
        package var tcp: [SocketAddress] = [SocketAddress(.v4(0), port: 50000)]
        /// The addresses of the server's candidates; empty: those of this machine's interfaces.
        package var announce: [IPAddress] = []
        /// The number of network loops that serve the peers, all behind these sockets; nil: by the number of
        /// processors.
        package var loops: Int?
        package init() {}
    }

    package struct Rooms: Sendable, Equatable {
        package enum Creation: String, Sendable, CaseIterable { case onJoin, api }
        /// The settings of a new room.
        package var settings = RoomSettings()
        /// A room without anyone ends after this.
        package var emptyTimeout: Duration = .seconds(30)
        /// How long those in a room wait for a host whose connection is lost, before one of them acts as the moderator:
        /// for longer than a server needs to be started again, and a page to be loaded. An argument for tests.
        package var hostAbsence = Duration.seconds(120)
        /// Whether a join creates the room, or only `RoomDirectory.create` does.
        package var create = Creation.onJoin
        /// The settings of new rooms by their names.
        package var presets = RoomPresets()
        package init() {}
    }

    package struct Video: Sendable, Equatable {
        /// The codecs that are offered to peers, best first; AV1 is sent on thin lines alone, wherever it stands.
        package var codecs: [VideoCodec] = [.h264, .vp8, .av1]
        /// The ladder, from the top down.
        package var renditions = RoomMediaConfiguration.Rung.standard
        package init() {}
    }

    package typealias Rung = RoomMediaConfiguration.Rung
    package typealias Audio = RoomMediaConfiguration.Audio

    package struct Recording: Sendable, Equatable {
        package enum Start: String, Sendable, CaseIterable { case manual, onFirstJoin }
        package enum Audio: String, Sendable, CaseIterable { case aac, opus }
        package var directory = "recordings"
        /// The node of a cluster: ids begin with it, so that every node knows whose recording one is. Empty: there is
        /// none.
        package var node = ""
        package var start = Start.manual
        /// A new file begins after this; zero: one file.
        package var segment: Duration = .zero
        /// The length and the bytes of all files at which a recording ends; zero: none.
        package var maxLength: Duration = .zero
        package var maxSize = 0
        package var audio = Audio.aac
        /// The time before its start that a recording has too; zero: nothing is kept.
        package var preRoll: Duration = .zero
        /// Bytes of the disk that recordings leave free: below that none starts, and running ones are closed.
        package var minimumFree = 1 << 30
        /// How many recordings may be started in one room within a minute.
        package var startsPerMinute = 12
        /// Whether recordings have the tracks of each participant, where their start does not say.
        package var tracks = false
        /// How many recordings of one room may run at once.
        package var perRoom = 8
        /// The program that delivers each complete recording, and its arguments (`DeliveryCommand`); empty: none.
        package var onFinished: [String] = []
        /// The longest run of that program, and how long failed runs are repeated.
        package var deliveryLimit = Duration.seconds(15 * 60)
        package var retryFor = Duration.seconds(72 * 3600)
        /// The age at which recordings are removed; zero: none is.
        package var keep: Duration = .zero
        /// The bytes of all recordings together above which the oldest are removed; 0: none is.
        package var maxBytes = 0
        package init() {}
    }

    /// The sources that may be pulled into rooms.
    package struct Inputs: Sendable, Equatable {
        /// `file` stands for the paths of files below `directory`.
        package enum Scheme: String, Sendable, CaseIterable { case srt, rtmp, rtsp, http, https, file }
        package var schemes = Scheme.allCases
        /// Empty: every host with a public address.
        package var hosts: [HostPattern] = []
        /// Empty: no file is read.
        package var directory = ""
        package var maxPerRoom = 4
        /// Pictures with more pixels are not decoded.
        package var maxPixels = 1920 * 1088
        /// How long a lost source is tried again.
        package var retryFor: Duration = .seconds(600)
        package init() {}

        /// The largest value of `maxPixels`: with more no decoder starts.
        package static let mostPixels = 4096 * 4096
    }

    /// The stored pictures of chats.
    package struct Pictures: Sendable, Equatable {
        /// Created with the first picture.
        package var directory = "data/pictures"
        /// The most bytes of all pictures together; the oldest are deleted.
        package var maxBytes = 1 << 30
        package init() {}
    }

    /// The limits of all clients together and of one client's address.
    ///
    /// Each has a metric `tessera_limit{name}` (see `Conference.metrics`). A request beyond a limit throws
    /// `ConferenceError.atCapacity` or `ConferenceError.tooFast`.
    package struct Limits: Sendable, Equatable {
        /// Rooms in total, and rooms that joins of one address created.
        package var rooms = 200
        package var roomsPerAddress = 20
        /// Participants and viewers in all rooms. An address may be that of a whole office.
        package var seats = 1000
        package var seatsPerAddress = 200
        /// Seats whose peer has not connected yet.
        package var halfOpen = 200
        package var halfOpenPerAddress = 40
        /// How long a participant keeps its seat without a media connection, whatever its signalling does. A page that is
        /// told comes back at once, where its user still decides on the camera.
        package var seatWithoutMedia = Duration.seconds(60)
        /// The time from the two descriptions to the client's first valid connectivity check.
        package var firstCheck = Duration.seconds(5)
        /// Those who wait to be let into rooms (`RoomSettings.admit`).
        package var waiting = 500
        package var waitingPerAddress = 30
        /// Views that a room may show beside `main` and the recorded one: named views in use, and participants' own
        /// choices.
        package var viewsPerRoom = 6
        /// Media connections over TCP, on all listeners.
        package var mediaConnections = 1024
        package var mediaConnectionsPerAddress = 64
        /// The share of one core that a loop spends on one peer in the long run; a peer that stays above it is
        /// throttled, then ended.
        package var loopShare = 0.2
        /// Pixels a second that are decoded for one sender, and for all senders together.
        package var decodedPixelsPerSecond = 1920 * 1088 * 60
        package var decodedPixelsPerSecondInAll = 40 * 1280 * 720 * 30
        package init() {}
    }
}
