public import Basics
public import Cluster
public import Conference
public import RoomMedia

/// All settings of the server, with their defaults.
///
/// The keys are the names of the properties: `rooms.maxParticipants` in YAML is `rooms.maxParticipants` here and
/// `TESSERA_ROOMS_MAXPARTICIPANTS` in the environment. `ConfigurationSchema` has the allowed values.
public struct TesseraConfiguration: Sendable, Equatable {
    public var http = HTTP()
    public var media = Media()
    public var ice = ICE()
    public var rooms = Rooms()
    public var video = Video()
    public var audio = Audio()
    public var recording = Recording()
    public var streams = ConferenceConfiguration.Streams()
    public var metrics = Metrics()
    public var inputs = ConferenceConfiguration.Inputs()
    public var auth = Auth()
    public var layouts = Layouts()
    public var doors = Doors()
    public var limits = Limits()
    public var events = Events()
    public var webhooks: [Webhook] = []
    public var tracing = Tracing()
    public var cluster = ClusterSettings()

    public init() {}

    public struct HTTP: Sendable, Equatable {
        public var listen = Endpoint(host: "0.0.0.0", port: 8080)
        public var tls = TLS()
        /// Origins of web pages, beside the server's own, that may use signalling and the API; `*` is every one.
        public var allowedOrigins: [String] = []
        /// The server's names, beside its addresses and `localhost`; `*` is every name.
        public var hosts: [String] = []
        /// The server's public URL, such as `https://meet.example`; empty: unknown.
        public var publicURL = ""
        /// Origins of web pages that may show the server's pages in a frame; `*` is every one.
        public var frameAncestors: [String] = []
        /// The proxies whose `X-Forwarded-…` and `Forwarded` headers are trusted.
        public var trustedProxies: [IPNetwork] = []

        public struct TLS: Sendable, Equatable {
            /// PEM files; empty is none.
            public var certificate = ""
            public var key = ""
            /// Makes a certificate at each start, for trials.
            public var selfSigned = false

            public var isOn: Bool { selfSigned || !certificate.isEmpty }
        }
    }

    public struct Media: Sendable, Equatable {
        public var listen = SocketAddress(.v4(0), port: 50000)
        /// Addresses of the server's candidates instead of the machine's own, e.g. behind one-to-one NAT.
        public var announce: [IPAddress] = []
        public var tcp = true
        /// Network threads; nil: by the number of processors.
        public var loops: Int?
    }

    public struct ICE: Sendable, Equatable {
        public var stun: [String] = []
        public var turn = TURN()

        public struct TURN: Sendable, Equatable {
            public var urls: [String] = []
            public var secret = ""
            public var ttl: Duration = .seconds(24 * 3600)
        }
    }

    // The conference's own values, with its defaults.
    public typealias Rooms = ConferenceConfiguration.Rooms
    public typealias Video = ConferenceConfiguration.Video
    public typealias Rendition = ConferenceConfiguration.Rung

    public struct Audio: Sendable, Equatable {
        public var mix = ConferenceConfiguration.Audio()
        /// Threads that mix, each for its rooms; nil: by the number of processors.
        public var threads: Int?
    }

    public struct Recording: Sendable, Equatable {
        public var files = ConferenceConfiguration.Recording()
        public var container = Container.mp4

        public enum Container: String, Sendable, CaseIterable { case mp4 }
    }

    public struct Metrics: Sendable, Equatable {
        /// The number of rooms, the busiest ones, that have series of their own; 0: none has.
        public var rooms = ConferenceConfiguration().roomsInMetrics
    }

    public struct Auth: Sendable, Equatable {
        public var mode = Mode.open
        public var secret = ""
        public var adminToken = ""
        /// The required `iss` of tokens, and a required member of `aud`; empty: not checked.
        public var issuer = ""
        public var audience = ""

        public enum Mode: String, Sendable, CaseIterable { case open, token }
    }

    public struct Layouts: Sendable, Equatable {
        public var directory = ConferenceConfiguration().layoutsDirectory
    }

    /// The endpoints for the clients of other systems.
    public struct Doors: Sendable, Equatable {
        public var appRTC = true
        public var webrtcDemo = true
        public var socketIO = true
        /// The address of the raw TCP endpoint, which its clients join without naming a room; nil: none.
        public var rawTCP: Endpoint?
        /// The room of the raw TCP endpoint; empty: `lobby`.
        public var rawTCPRoom = ""
        /// The room of WebRTC demo clients whose URL names none.
        public var webrtcDemoRoom = "lobby"
        /// Whether the clients of these endpoints may connect with DTLS 1.0 and old ciphers.
        public var legacyDTLS = false
        /// The folder of the accounts and the pictures of chats; created with the first of them.
        public var directory = "data"
        /// The most bytes of all stored pictures together; the oldest are deleted.
        public var pictureBytes = 1 << 30
    }

    public struct Events: Sendable, Equatable {
        /// The folder of the events that webhooks have not taken yet; empty: `webhooks` in `doors.directory`.
        public var directory = ""
    }

    public struct Tracing: Sendable, Equatable {
        /// The URL of an OpenTelemetry collector that takes OTLP by HTTP and JSON; empty: joins are not traced.
        public var otlp = ""
    }

    /// The folder of the events that webhooks have not taken yet.
    var webhooksDirectory: String { events.directory.isEmpty ? doors.directory + "/webhooks" : events.directory }

    public struct Limits: Sendable, Equatable {
        public var joinsPerSecondPerAddress = 5
        /// Sustained rate of API requests, with a burst of four times as many. Thirty pages that open behind one
        /// address make about sixty requests.
        public var requestsPerSecondPerAddress = 50
        public var messageBytes = 262_144
        public var sdpBytes = 65_536
        /// HTTP and signalling connections in total. Each participant holds one.
        public var connections = 4096
        /// Connections of one address: enough for a whole office behind one NAT, each person with a page and its
        /// signalling.
        public var connectionsPerAddress = 256
        /// The conference's limits of rooms, seats, media connections and processor time.
        public var conference = ConferenceConfiguration.Limits()
    }
}
