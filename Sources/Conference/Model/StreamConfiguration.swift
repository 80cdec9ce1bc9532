public import Streaming

extension ConferenceConfiguration {
    /// The streams of rooms to other servers.
    public struct Streams: Sendable, Equatable {
        public enum Scheme: String, Sendable, CaseIterable { case rtmp, rtmps, srt }
        public var schemes = Scheme.allCases
        /// The hosts that streams may go to; empty: all with public addresses.
        public var hosts: [HostPattern] = []
        /// The longest time between two keyframes.
        public var keyframeInterval: Duration = .seconds(2)
        /// The least frames a second, also while the picture stands still.
        public var minimumFrameRate = 10
        /// The most streams of a room at the same time.
        public var maxPerRoom = 4
        /// How long a lost connection is tried again.
        public var retryFor: Duration = .seconds(600)
        /// A PEM file with the authorities whose certificates count for RTMPS; empty: the system's.
        public var authorities = ""

        public init() {}

        var policy: AddressPolicy {
            AddressPolicy(schemes: Set(schemes.map(\.rawValue)), hosts: hosts, key: "streams.hosts")
        }
    }
}
