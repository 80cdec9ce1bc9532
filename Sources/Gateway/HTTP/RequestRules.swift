import Basics
import Foundation

/// What the settings say of names, origins and proxies: the same for HTTP and for WebSocket handshakes.
struct RequestRules: Sendable {
    let hosts: HostPolicy
    let origins: OriginPolicy
    let trustedProxies: [IPNetwork]

    /// - Parameter machineName: as `gethostname` says; an argument for tests.
    init(_ settings: TesseraConfiguration.HTTP, machineName: String = ProcessInfo.processInfo.hostName) {
        hosts = HostPolicy(settings, machineName: machineName)
        origins = OriginPolicy(settings)
        trustedProxies = settings.trustedProxies
    }

    /// - Parameters: the ends of the connection, as the socket says them, and what the request says.
    func source(remote: String?, local: String?, host: String?, headers: ProxyHeaders) -> RequestSource {
        RequestSource(
            remote: remote.flatMap { IPAddress(withoutZone: $0) }, local: local.flatMap { IPAddress(withoutZone: $0) },
            host: host,
            headers: headers, trustedProxies: trustedProxies)
    }
}
