import Basics

/// Where a stream goes, and how hard its writer tries.
package struct StreamTarget: Sendable {
    package var url: MediaURL
    package var policy: AddressPolicy
    /// How long a lost connection is tried again.
    package var retryFor: Duration
    /// A PEM file with the authorities whose certificates count; empty: the system's.
    package var authorities: String

    package init(url: MediaURL, policy: AddressPolicy, retryFor: Duration, authorities: String = "") {
        self.url = url
        self.policy = policy
        self.retryFor = retryFor
        self.authorities = authorities
    }

    /// The schemes of which streams can go out.
    package static let schemes = ["rtmp", "rtmps", "srt"]

    /// Throws what can be said against the target without asking the network.
    package func check() throws(StreamingError) {
        try policy.check(url)
        switch url.scheme {
        case "srt":
            if url.port == nil { throw .refused("An srt:// URL names the port: srt://HOST:PORT.") }
            _ = try SRTOptions(url)
        default:
            if url.path.split(separator: "/").isEmpty {
                throw .refused("An \(url.scheme):// URL ends with the application and the stream's key: /APP/KEY.")
            }
        }
    }
}
