// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [.treatAllWarnings(as: .error), .enableExperimentalFeature("Lifetimes")]

/// Fuzzers for everything that takes bytes from outside. `scripts/fuzz` builds it with the flags that make libFuzzer work; the bodies are
/// also test targets of the package above, which replay what was found.
let package = Package(
    name: "fuzz",
    dependencies: [.package(name: "tessera", path: "../..")],
    targets: [
        .target(
            name: "Driver", dependencies: [.product(name: "Fuzzing", package: "tessera")], path: "Driver", swiftSettings: strict,
            // libFuzzer is C++.
            linkerSettings: [.linkedLibrary("stdc++")]),
        .target(name: "PeerBodies", dependencies: [.product(name: "FuzzedPeer", package: "tessera")], path: "Peer/Bodies", swiftSettings: strict),
        .target(name: "MediaBodies", dependencies: [.product(name: "FuzzedMedia", package: "tessera")], path: "Media/Bodies", swiftSettings: strict),
        .target(
            name: "GatewayBodies", dependencies: [.product(name: "FuzzedGateway", package: "tessera")], path: "Gateway/Bodies", swiftSettings: strict),
        .executableTarget(name: "fuzz-peer", dependencies: ["Driver", "PeerBodies"], path: "Drivers/Peer", swiftSettings: strict),
        .executableTarget(name: "fuzz-media", dependencies: ["Driver", "MediaBodies"], path: "Drivers/Media", swiftSettings: strict),
        .executableTarget(name: "fuzz-gateway", dependencies: ["Driver", "GatewayBodies"], path: "Drivers/Gateway", swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)
