import Basics
import FoundationEssentials

/// The settings' rules for names, origins and proxies, for HTTP requests and WebSocket handshakes alike.
struct RequestRules: Sendable {
    let hosts: HostPolicy
    let origins: OriginPolicy
    let trustedProxies: [IPNetwork]
    private let publicURL: String
    private let usesTLS: Bool

    /// - Parameter machineName: the result of `gethostname`; an argument for tests.
    init(_ settings: TesseraConfiguration.HTTP, machineName: String = ProcessInfo.processInfo.hostName) {
        hosts = HostPolicy(settings, machineName: machineName)
        origins = OriginPolicy(settings)
        trustedProxies = settings.trustedProxies
        publicURL = settings.publicURL
        usesTLS = settings.tls.isOn
    }

    /// The address by which the sender of a request reaches this server.
    func publicAddress(for source: RequestSource) -> PublicAddress {
        PublicAddress(publicURL: publicURL, source: source, usesTLS: usesTLS)
    }

    /// Whether an address of a connection is one of `http.trustedProxies`.
    func isTrustedProxy(_ remote: String?) -> Bool {
        guard let address = remote.flatMap({ IPAddress(withoutZone: $0) })?.unmapped else { return false }
        return trustedProxies.contains { $0.contains(address) }
    }

    /// The source of a request, from the addresses of its connection (`remote`, `local`) and from its headers.
    func source(remote: String?, local: String?, host: String?, headers: ProxyHeaders) -> RequestSource {
        RequestSource(
            remote: remote.flatMap { IPAddress(withoutZone: $0) }, local: local.flatMap { IPAddress(withoutZone: $0) },
            host: host,
            headers: headers, trustedProxies: trustedProxies)
    }
}
