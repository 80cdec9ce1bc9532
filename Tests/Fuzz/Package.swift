// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
    .treatAllWarnings(as: .error), .enableExperimentalFeature("Lifetimes"), .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"), .enableUpcomingFeature("InternalImportsByDefault"),
]

/// Fuzzers for all code that takes bytes from outside. `scripts/fuzz` builds this package with the flags for libFuzzer;
/// the bodies are also a test target of the package above, which replays earlier findings.
let package = Package(
    name: "fuzz",
    dependencies: [
        .package(name: "tessera", path: "../.."),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    ],
    targets: [
        .target(
            name: "FuzzBodies",
            dependencies: [
                .product(name: "Fuzzing", package: "tessera"), .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOWebSocket", package: "swift-nio"),
            ], path: "Bodies", exclude: ["Suites"],
            swiftSettings: strict),
        .executableTarget(
            name: "fuzz", dependencies: ["FuzzBodies", .product(name: "Fuzzing", package: "tessera")], path: "Driver",
            swiftSettings: strict,
            // libFuzzer is C++.
            linkerSettings: [.linkedLibrary("stdc++")]),
    ],
    swiftLanguageModes: [.v6]
)
