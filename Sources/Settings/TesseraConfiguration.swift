package import Basics
package import Cluster
package import Conference
import RoomMedia

/// All settings of the server, with their defaults.
///
/// The keys are the names of the properties: `rooms.maxParticipants` in YAML is `rooms.maxParticipants` here and
/// `TESSERA_ROOMS_MAXPARTICIPANTS` in the environment. `ConfigurationSchema` has the allowed values.
package struct TesseraConfiguration: Sendable, Equatable {
    package var http = HTTP()
    package var media = Media()
    package var ice = ICE()
    package var rooms = Rooms()
    package var video = Video()
    package var audio = Audio()
    package var recording = Recording()
    package var streams = ConferenceConfiguration.Streams()
    package var metrics = Metrics()
    package var inputs = ConferenceConfiguration.Inputs()
    package var auth = Auth()
    package var layouts = Layouts()
    package var doors = Doors()
    package var limits = Limits()
    package var events = Events()
    package var webhooks: [Webhook] = []
    package var tracing = Tracing()
    package var cluster = ClusterSettings()

    package init() {}

    package struct HTTP: Sendable, Equatable {
        package var listen = Endpoint(host: "0.0.0.0", port: 8080)
        package var tls = TLS()
        /// Origins of web pages, beside the server's own, that may use signalling and the API; `*` is every one.
        package var allowedOrigins: [String] = []
        /// The server's names, beside its addresses and `localhost`; `*` is every name.
        package var hosts: [String] = []
        /// The server's public URL, such as `https://meet.example`; empty: unknown.
        package var publicURL = ""
        /// Origins of web pages that may show the server's pages in a frame; `*` is every one.
        package var frameAncestors: [String] = []
        /// The proxies whose `X-Forwarded-…` and `Forwarded` headers are trusted.
        package var trustedProxies: [IPNetwork] = []

        package struct TLS: Sendable, Equatable {
            /// PEM files; empty is none.
            package var certificate = ""
            package var key = ""
            /// Makes a certificate at each start, for trials.
            package var selfSigned = false

            package var isOn: Bool { selfSigned || !certificate.isEmpty }
        }
    }

    package struct Media: Sendable, Equatable {
        package var listen = SocketAddress(.v4(0), port: 50000)
        /// Addresses of the server's candidates instead of the machine's own, e.g. behind one-to-one NAT.
        package var announce: [IPAddress] = []
        package var tcp = true
        /// Network threads; nil: by the number of processors.
        package var loops: Int?
    }

    package struct ICE: Sendable, Equatable {
        package var stun: [String] = []
        package var turn = TURN()

        package struct TURN: Sendable, Equatable {
            package var urls: [String] = []
            package var secret = ""
            package var ttl: Duration = .seconds(24 * 3600)
        }
    }

    // The conference's own values, with its defaults.
    package typealias Rooms = ConferenceConfiguration.Rooms
    package typealias Video = ConferenceConfiguration.Video
    package typealias Rendition = ConferenceConfiguration.Rung

    package struct Audio: Sendable, Equatable {
        package var mix = ConferenceConfiguration.Audio()
        /// Threads that mix, each for its rooms; nil: by the number of processors.
        package var threads: Int?
    }

    package struct Recording: Sendable, Equatable {
        package var files = ConferenceConfiguration.Recording()
        package var container = Container.mp4

        package enum Container: String, Sendable, CaseIterable { case mp4 }
    }

    package struct Metrics: Sendable, Equatable {
        /// The number of rooms, the busiest ones, that have series of their own; 0: none has.
        package var rooms = ConferenceConfiguration().roomsInMetrics
    }

    package struct Auth: Sendable, Equatable {
        package var mode = Mode.open
        package var secret = ""
        package var adminToken = ""
        /// The required `iss` of tokens, and a required member of `aud`; empty: not checked.
        package var issuer = ""
        package var audience = ""

        package enum Mode: String, Sendable, CaseIterable { case open, token }
    }

    package struct Layouts: Sendable, Equatable {
        package var directory = ConferenceConfiguration().layoutsDirectory
    }

    /// The endpoints for the clients of other systems.
    package struct Doors: Sendable, Equatable {
        package var appRTC = true
        package var webrtcDemo = true
        package var socketIO = true
        /// The address of the raw TCP endpoint, which its clients join without naming a room; nil: none.
        package var rawTCP: Endpoint?
        /// The room of the raw TCP endpoint; empty: `lobby`.
        package var rawTCPRoom = ""
        /// The room of WebRTC demo clients whose URL names none.
        package var webrtcDemoRoom = "lobby"
        /// Whether the clients of these endpoints may connect with DTLS 1.0 and old ciphers.
        package var legacyDTLS = false
        /// The folder of the accounts and the pictures of chats; created with the first of them.
        package var directory = "data"
        /// The most bytes of all stored pictures together; the oldest are deleted.
        package var pictureBytes = 1 << 30
    }

    package struct Events: Sendable, Equatable {
        /// The folder of the events that webhooks have not taken yet; empty: `webhooks` in `doors.directory`.
        package var directory = ""
    }

    package struct Tracing: Sendable, Equatable {
        /// The URL of an OpenTelemetry collector that takes OTLP by HTTP and JSON; empty: joins are not traced.
        package var otlp = ""
    }

    /// The folder of the events that webhooks have not taken yet.
    package var webhooksDirectory: String {
        events.directory.isEmpty ? doors.directory + "/webhooks" : events.directory
    }

    package struct Limits: Sendable, Equatable {
        package var joinsPerSecondPerAddress = 5
        /// Sustained rate of API requests, with a burst of four times as many. Thirty pages that open behind one
        /// address make about sixty requests.
        package var requestsPerSecondPerAddress = 50
        package var messageBytes = 262_144
        package var sdpBytes = 65_536
        /// HTTP and signalling connections in total. Each participant holds one.
        package var connections = 4096
        /// Connections of one address: enough for a whole office behind one NAT, each person with a page and its
        /// signalling.
        package var connectionsPerAddress = 256
        /// The conference's limits of rooms, seats, media connections and processor time.
        package var conference = ConferenceConfiguration.Limits()
    }
}
