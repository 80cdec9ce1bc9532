// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
    .treatAllWarnings(as: .error), .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"), .enableUpcomingFeature("InternalImportsByDefault"),
]
let peer: Target.Dependency = .product(name: "Peer", package: "tessera")

/// Programs that use the product `Peer` from another package. `scripts/test` builds them and runs them against aiortc.
let package = Package(
    name: "examples",
    products: [
        .executable(name: "echo-peer", targets: ["EchoPeer"]),
        .executable(name: "save-peer", targets: ["SavePeer"]),
    ],
    dependencies: [.package(name: "tessera", path: "../..")],
    targets: [
        .target(
            name: "AnsweringPeer",
            dependencies: [peer, .product(name: "Sockets", package: "tessera")], path: "AnsweringPeer",
            swiftSettings: strict),
        .executableTarget(
            name: "EchoPeer", dependencies: ["AnsweringPeer", peer], path: "EchoPeer", swiftSettings: strict),
        .executableTarget(
            name: "SavePeer", dependencies: ["AnsweringPeer", peer], path: "SavePeer", swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)
