package import Basics
import FoundationEssentials

/// The settings' rules for names, origins and proxies, for HTTP requests and WebSocket handshakes alike.
package struct RequestRules: Sendable {
    package let hosts: HostPolicy
    package let origins: OriginPolicy
    package let trustedProxies: [IPNetwork]
    private let publicURL: String
    private let usesTLS: Bool

    package init(
        hosts: HostPolicy, origins: OriginPolicy, trustedProxies: [IPNetwork], publicURL: String, usesTLS: Bool
    ) {
        self.hosts = hosts
        self.origins = origins
        self.trustedProxies = trustedProxies
        self.publicURL = publicURL
        self.usesTLS = usesTLS
    }

    /// The address by which the sender of a request reaches this server.
    package func publicAddress(for source: RequestSource) -> PublicAddress {
        PublicAddress(publicURL: publicURL, source: source, usesTLS: usesTLS)
    }

    /// Whether an address of a connection is one of `http.trustedProxies`.
    func isTrustedProxy(_ remote: String?) -> Bool {
        guard let address = remote.flatMap({ IPAddress(withoutZone: $0) })?.unmapped else { return false }
        return trustedProxies.contains { $0.contains(address) }
    }

    /// The source of a request, from the addresses of its connection (`remote`, `local`) and from its headers.
    package func source(remote: String?, local: String?, host: String?, headers: ProxyHeaders) -> RequestSource {
        RequestSource(
            remote: remote.flatMap { IPAddress(withoutZone: $0) }, local: local.flatMap { IPAddress(withoutZone: $0) },
            host: host,
            headers: headers, trustedProxies: trustedProxies)
    }
}
