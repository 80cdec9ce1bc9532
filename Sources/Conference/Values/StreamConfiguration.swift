package import Streaming

extension ConferenceConfiguration {
    /// The streams of rooms to other servers.
    package struct Streams: Sendable, Equatable {
        package enum Scheme: String, Sendable, CaseIterable { case rtmp, rtmps, srt }
        package var schemes = Scheme.allCases
        /// The hosts that streams may go to; empty: all with public addresses.
        package var hosts: [HostPattern] = []
        /// The longest time between two keyframes.
        package var keyframeInterval: Duration = .seconds(2)
        /// The least frames a second, also while the picture stands still.
        package var minimumFrameRate = 10
        /// The most streams of a room at the same time.
        package var maxPerRoom = 4
        /// How long a lost connection is tried again.
        package var retryFor: Duration = .seconds(600)
        /// A PEM file with the authorities whose certificates count for RTMPS; empty: the system's.
        package var authorities = ""

        package init() {}

        var policy: AddressPolicy {
            AddressPolicy(schemes: Set(schemes.map(\.rawValue)), hosts: hosts, key: "streams.hosts")
        }
    }
}
