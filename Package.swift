// swift-tools-version: 6.2
import PackageDescription

/// Every target of ours is built in Swift 6 mode, and a warning in one is an error. `Lifetimes`: a cursor over borrowed
/// bytes (`ByteReader`) says in its type that it does not outlive them. The three upcoming features: existentials say
/// `any`, a file imports the module of every member that it uses, and an import is `public` or `package` only where a
/// declaration of that access needs it, so that no C module shows through a target's API.
let strict: [SwiftSetting] = [
    .treatAllWarnings(as: .error), .enableExperimentalFeature("Lifetimes"), .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"), .enableUpcomingFeature("InternalImportsByDefault"),
]

/// What computes most in tests is optimized in a debug build too, and keeps its assertions. `scripts/packages` asks for it;
/// for whoever depends on this package SwiftPM would refuse such flags.
let computing: [SwiftSetting] =
    strict
    + (Context.environment["OPTIMIZED_DEBUG"] == nil
        ? [] : [.unsafeFlags(["-O", "-assert-config", "Debug"], .when(configuration: .debug))])

/// From the bottom up: a target imports only those above it in this list.
let package = Package(
    name: "tessera",
    products: [
        .executable(name: "tessera", targets: ["tessera"]),
        // One WebRTC peer without I/O. `Basics` has the types that its API is made of: time, addresses, rates, frames.
        .library(name: "Peer", targets: ["Peer", "Basics"]),
        // Sockets and threads for whoever has none of their own to run a peer on.
        .library(name: "Sockets", targets: ["Sockets", "Threads", "Basics"]),
        // Links that lose, delay and throttle in virtual time, for the tests of whoever uses `Peer`.
        .library(name: "Simulation", targets: ["Simulation"]),
        // What Tests/Fuzz, a package of its own, takes apart.
        .library(
            name: "Fuzzing",
            targets: ["Fuzzing", "Basics", "Sockets", "Peer", "Simulation", "Codecs", "Mixing", "Cluster", "Gateway"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.34.1"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: []),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        // Hummingbird brings it; named here for what the server itself requests (webhooks).
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
    ],
    targets: [
        // C libraries: one module map and one small shim header each.
        .systemLibrary(name: "CFFmpeg", pkgConfig: "libavcodec libavformat libavutil libswscale libswresample"),
        .systemLibrary(name: "COpus", pkgConfig: "opus"),
        .systemLibrary(name: "CAOM", pkgConfig: "aom"),
        .systemLibrary(name: "CVPX", pkgConfig: "vpx"),
        .systemLibrary(name: "CX264", pkgConfig: "x264"),
        .systemLibrary(name: "CYUV"),
        .systemLibrary(name: "COpenSSL", pkgConfig: "openssl"),
        .systemLibrary(name: "CYAML", pkgConfig: "yaml-0.1"),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib"),
        .systemLibrary(name: "CSRTP", pkgConfig: "libsrtp2"),
        .systemLibrary(name: "CPango", pkgConfig: "pangocairo"),
        .target(name: "CThreads"),
        .target(name: "CSockets"),
        // Filters of system calls and limits for processes that read what strangers send.
        .target(name: "CSandbox"),
        // The shipped layouts, taken into the binary by `#embed`.
        .target(name: "CLayouts"),
        // The file of settings, in the same way.
        .target(name: "CSettings"),

        // The web client's files, which the plugin bundles and compresses (SwiftPM compiles no C that a plugin wrote).
        .plugin(name: "PageBundle", capability: .buildTool(), path: "Sources/PageBundle"),
        .target(name: "WebFiles", swiftSettings: strict, plugins: ["PageBundle"]),

        .target(name: "Basics", swiftSettings: computing),
        .target(name: "Threads", dependencies: ["Basics", "CThreads"], swiftSettings: strict),
        // Not called Network: Hummingbird and NIO ask `canImport(Network)` to find out whether they are on Apple's
        // platforms.
        .target(name: "Sockets", dependencies: ["Basics", "Threads", "CSockets"], swiftSettings: strict),
        // What OpenSSL computes, each of its objects with one owner.
        .target(name: "Cryptography", dependencies: ["COpenSSL"], swiftSettings: strict),
        .target(name: "Peer", dependencies: ["Basics", "Cryptography", "COpenSSL", "CSRTP"], swiftSettings: computing),
        .target(name: "Simulation", dependencies: ["Basics", "Peer"], swiftSettings: computing),
        .target(
            name: "Codecs", dependencies: ["Basics", "CAOM", "CFFmpeg", "COpus", "CVPX", "CX264", "CYUV"],
            swiftSettings: computing
        ),
        .target(
            name: "Mixing", dependencies: ["Basics", "Codecs", "CLayouts", "CPango", "CYUV"], swiftSettings: computing),
        .target(name: "Recording", dependencies: ["Basics", "Codecs", "CFFmpeg"], swiftSettings: strict),
        .target(
            name: "Streaming", dependencies: ["Basics", "Threads", "Codecs", "CFFmpeg"], swiftSettings: strict),
        // What is pulled into a room: sources by URL and files, as pictures and samples.
        .target(
            name: "Inputs",
            dependencies: [
                "Basics", "Threads", "CThreads", "CSandbox", "Codecs", "Streaming",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ], swiftSettings: strict),
        .target(
            name: "RoomMedia", dependencies: ["Basics", "Threads", "Sockets", "Peer", "Codecs", "Mixing"],
            swiftSettings: computing),
        .target(
            name: "Conference",
            dependencies: [
                "Basics", "Threads", "Cryptography", "Sockets", "Peer", "Codecs", "Mixing", "RoomMedia", "Recording",
                "Streaming", "Inputs",
                .product(name: "Logging", package: "swift-log"),
            ], swiftSettings: strict),
        // The nodes of one cluster: who is there, who has which room. The store is etcd.
        .target(
            name: "Cluster",
            dependencies: [
                "Basics", "Threads",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "Logging", package: "swift-log"),
            ], swiftSettings: computing),
        // HTTP and WebSocket, with the limits of connections, requests and messages. It knows no room, token, app or
        // cluster.
        .target(
            name: "WebServer",
            dependencies: [
                "Basics", "Threads", "CZlib",
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
                .product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras"),
                .product(name: "NIOTLS", package: "swift-nio"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOWebSocket", package: "swift-nio"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
            ], swiftSettings: computing),
        // The settings: keys, rules, loading, faults.
        .target(
            name: "Settings",
            dependencies: [
                "Basics", "Cryptography", "RoomMedia", "Recording", "Streaming", "Conference", "Cluster", "WebServer",
                "CYAML",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: strict),
        // Who may come in: tokens, secrets, limits of joins, and what endpoints ask of the conference.
        .target(
            name: "Admission",
            dependencies: [
                "Basics", "Threads", "Cryptography", "RoomMedia", "Recording", "Streaming", "Conference", "Cluster",
                "WebServer", "Settings",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "Logging", package: "swift-log"),
            ], swiftSettings: strict),
        // Requests of the server itself: webhooks, and traces of joins.
        .target(
            name: "Outbound",
            dependencies: [
                "Basics", "Threads", "Cryptography", "Conference", "WebServer", "Settings", "Admission",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "Logging", package: "swift-log"),
            ], swiftSettings: strict),
        // Signalling of the own clients, WHIP and WHEP, HLS.
        .target(
            name: "Signalling",
            dependencies: [
                "Cryptography", "Basics", "Threads", "Peer", "RoomMedia", "Streaming", "Conference", "WebServer",
                "Settings",
                "Admission",
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "Logging", package: "swift-log"),
            ], swiftSettings: strict),
        // The endpoints of other systems' clients, a folder each.
        .target(
            name: "AppEndpoints",
            dependencies: [
                "Basics", "Threads", "Cryptography", "Conference", "WebServer",
                "Settings", "Admission",
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "Logging", package: "swift-log"),
            ], swiftSettings: strict),
        // The API of operators and programs, events, metrics, and the pages.
        .target(
            name: "Management",
            dependencies: [
                "Basics", "Threads", "RoomMedia", "Recording", "Streaming", "Conference", "Cluster",
                "WebServer", "Admission", "WebFiles",
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "NIOCore", package: "swift-nio"),
            ], swiftSettings: strict),
        // What a node of a cluster does for rooms of others: it finds their owners, and passes on requests and sockets.
        .target(
            name: "ClusterGateway",
            dependencies: [
                "Cryptography", "Basics", "Threads", "Conference", "Cluster", "WebServer", "Settings", "Admission",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOWebSocket", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "Logging", package: "swift-log"),
            ], swiftSettings: strict),
        // What a start shows on the terminal: addresses, and a QR code for phones.
        .target(
            name: "Terminal",
            dependencies: ["Basics", "WebServer", .product(name: "NIOCore", package: "swift-nio")],
            swiftSettings: strict),
        // What goes into a report of a fault, and what is taken out of it.
        .target(name: "Diagnosis", dependencies: ["Basics", "WebServer"], swiftSettings: strict),
        // Composition only: reads the settings, makes the parts, starts and stops them.
        .target(
            name: "Gateway",
            dependencies: [
                "Basics", "Threads", "RoomMedia", "Conference", "Cluster", "WebServer", "Settings",
                "Admission", "Outbound", "Signalling", "AppEndpoints", "Management", "ClusterGateway", "Terminal",
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "HummingbirdTLS", package: "hummingbird"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ], swiftSettings: strict),
        .target(
            name: "Call",
            dependencies: [
                "Basics", "Threads", "Sockets", "Peer", "Codecs", "Recording",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOWebSocket", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ], swiftSettings: strict),
        .executableTarget(
            name: "tessera",
            dependencies: [
                "Basics", "Threads", "Codecs", "Mixing", "Recording", "Inputs", "WebServer", "Settings", "Diagnosis",
                "Gateway", "Call", "CSettings",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
            ], swiftSettings: strict),
        // What the tests of several targets need; in no product.
        .target(
            name: "TestSupport", dependencies: ["Basics", "Threads"], path: "Tests/TestSupport",
            swiftSettings: computing),
        .testTarget(name: "BasicsTests", dependencies: ["TestSupport", "Basics"], swiftSettings: strict),
        .testTarget(
            name: "CryptographyTests", dependencies: ["Cryptography", "COpenSSL"], swiftSettings: strict),
        .testTarget(name: "ThreadsTests", dependencies: ["TestSupport", "Basics", "Threads"], swiftSettings: strict),
        .testTarget(
            name: "SocketsTests", dependencies: ["TestSupport", "Basics", "Threads", "Sockets", "CSockets"],
            swiftSettings: strict),
        .testTarget(
            name: "PeerTests", dependencies: ["TestSupport", "Basics", "Peer", "Simulation", "COpenSSL", "CSRTP"],
            resources: [.copy("Fixtures")],
            swiftSettings: strict),
        .testTarget(
            name: "CodecsTests", dependencies: ["TestSupport", "Basics", "Codecs", "CFFmpeg"], swiftSettings: strict),
        .testTarget(
            name: "MixingTests", dependencies: ["TestSupport", "Basics", "Codecs", "Mixing"], swiftSettings: strict),
        .testTarget(
            name: "RecordingTests", dependencies: ["TestSupport", "Basics", "Codecs", "Recording"],
            swiftSettings: strict),
        .testTarget(
            name: "StreamingTests", dependencies: ["TestSupport", "Basics", "Codecs", "Streaming"],
            swiftSettings: strict),
        .testTarget(
            name: "InputsTests",
            dependencies: ["Basics", "Threads", "CSandbox", "Codecs", "Streaming", "Inputs"],
            resources: [.copy("Fixtures")],
            swiftSettings: strict),
        .testTarget(
            name: "RoomMediaTests",
            dependencies: ["TestSupport", "Basics", "Threads", "Sockets", "Peer", "Codecs", "Mixing", "RoomMedia"],
            swiftSettings: strict),
        .testTarget(
            name: "ConferenceTests",
            dependencies: [
                "TestSupport", "Basics", "Threads", "Sockets", "Peer", "Codecs", "Mixing", "RoomMedia", "Recording",
                "Streaming", "Conference", .product(name: "Logging", package: "swift-log"),
            ], swiftSettings: strict),
        .testTarget(
            name: "ClusterTests",
            dependencies: [
                "TestSupport", "Cluster", "Basics", "Threads", .product(name: "Logging", package: "swift-log"),
            ], swiftSettings: strict),
        // What the tests of endpoints need; in no product.
        .target(
            name: "EndpointTestSupport", dependencies: ["Basics", "Cryptography", "Conference", "Admission"],
            path: "Tests/EndpointTestSupport", swiftSettings: strict),
        .testTarget(
            name: "WebServerTests",
            dependencies: [
                "Basics", "WebServer",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOWebSocket", package: "swift-nio"),
                .product(name: "NIOTLS", package: "swift-nio"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ], swiftSettings: strict),
        .testTarget(
            name: "SettingsTests",
            dependencies: [
                "Settings"
            ], swiftSettings: strict),
        .testTarget(
            name: "AdmissionTests",
            dependencies: [
                "EndpointTestSupport", "Basics", "Threads", "Cryptography", "Conference", "WebServer", "Settings",
                "Admission",
            ], swiftSettings: strict),
        .testTarget(
            name: "OutboundTests",
            dependencies: [
                "TestSupport", "Basics", "Conference", "WebServer", "Settings", "Admission", "Outbound",
            ], swiftSettings: strict),
        .testTarget(
            name: "SignallingTests",
            dependencies: [
                "TestSupport", "EndpointTestSupport", "Basics", "RoomMedia", "Conference", "WebServer", "Admission",
                "Signalling",
                .product(name: "NIOCore", package: "swift-nio"),
            ], swiftSettings: strict),
        .testTarget(
            name: "AppEndpointsTests",
            dependencies: [
                "TestSupport", "Basics", "Threads", "Cryptography", "Conference", "WebServer", "Admission",
                "AppEndpoints",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "Logging", package: "swift-log"),
            ], swiftSettings: strict),
        .testTarget(
            name: "TerminalTests",
            dependencies: [
                "Basics", "Cryptography", "WebServer", "Terminal",
            ], swiftSettings: strict),
        .testTarget(
            name: "GatewayTests",
            dependencies: [
                "TestSupport", "EndpointTestSupport", "Basics", "Threads", "Cryptography", "Peer", "Codecs",
                "RoomMedia", "Recording", "Streaming", "Conference", "Cluster", "WebServer", "Settings", "Admission",
                "Outbound", "Signalling", "AppEndpoints", "Management", "ClusterGateway", "Gateway", "WebFiles",
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOWebSocket", package: "swift-nio"),
                .product(name: "Logging", package: "swift-log"),
            ], swiftSettings: strict),
        .testTarget(
            name: "DiagnosisTests", dependencies: ["WebServer", "Diagnosis"], swiftSettings: strict),
        .testTarget(
            name: "CallTests",
            dependencies: [
                "TestSupport", "Basics", "Peer", "Codecs", "Call", .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ], swiftSettings: strict),

        // Benchmarks and what they measure: in no product, so that nobody who depends on this package builds them. They
        // run the rooms' own rules, which are `package`, and so are no package of their own.
        .target(
            name: "Scenarios", dependencies: ["Basics", "Peer", "Simulation", "Codecs", "RoomMedia"],
            path: "Tests/Benchmarks/Scenarios",
            swiftSettings: computing),
        .executableTarget(
            name: "Bench",
            dependencies: [
                "Basics", "Threads", "Cryptography", "Sockets", "Peer", "Simulation", "Scenarios", "Codecs", "Mixing",
                "RoomMedia",
                "Recording", "Conference", "Call",
                "CFFmpeg", "COpus", "CVPX", "CYUV",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ], path: "Tests/Benchmarks/Bench", swiftSettings: strict),
        .testTarget(
            name: "ScenariosTests", dependencies: ["TestSupport", "Basics", "Simulation", "RoomMedia", "Scenarios"],
            path: "Tests/Benchmarks/ScenariosTests", swiftSettings: strict),
        .testTarget(
            name: "BenchTests", dependencies: ["Basics", "Bench", "Recording", "Simulation"],
            path: "Tests/Benchmarks/BenchTests", swiftSettings: strict),

        // Fuzz bodies: short seeded runs here, long ones with libFuzzer by the package in Tests/Fuzz.
        .target(name: "CFuzzing", path: "Tests/Fuzz/CFuzzing"),
        .target(
            name: "Fuzzing", dependencies: ["Basics", "Threads", "CFuzzing"], path: "Tests/Fuzz/Fuzzing",
            swiftSettings: computing),
        .testTarget(
            name: "FuzzTests",
            dependencies: [
                "Fuzzing", "Basics", "Sockets", "Peer", "Simulation", "Codecs", "Mixing", "Conference", "Cluster",
                "WebServer", "Settings", "Admission", "Management", "Signalling", "AppEndpoints", "ClusterGateway",
                "Gateway",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOWebSocket", package: "swift-nio"),
            ],
            path: "Tests/Fuzz/Bodies", swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)
