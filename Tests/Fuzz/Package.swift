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
    dependencies: [.package(name: "tessera", path: "../..")],
    targets: [
        .target(
            name: "FuzzBodies", dependencies: [.product(name: "Fuzzing", package: "tessera")], path: "Bodies",
            exclude: ["Suites"],
            swiftSettings: strict),
        .executableTarget(
            name: "fuzz", dependencies: ["FuzzBodies", .product(name: "Fuzzing", package: "tessera")], path: "Driver",
            swiftSettings: strict,
            // libFuzzer is C++.
            linkerSettings: [.linkedLibrary("stdc++")]),
    ],
    swiftLanguageModes: [.v6]
)
