import Basics
import Foundation

/// The name in a `Host` header, without its port.
struct HostName: Hashable, Sendable {
    /// In lower case, without the dot at the end that a full name may have; empty for what is no name.
    let text: String

    init(_ authority: String) {
        var name = WebOrigin.split(authority)?.host ?? ""
        if name.last == "." { name.removeLast() }
        text = name
    }

    var address: IPAddress? {
        if text.first == "[", text.last == "]" { return IPAddress(text.dropFirst().dropLast()) }
        return IPAddress(text)
    }

    /// `localhost`, 127.0.0.0/8 or [::1]: names that mean this machine to every browser on it.
    var isLoopback: Bool { text == "localhost" || (address?.unmapped.isLoopback ?? false) }
}

/// By which names this server may be called.
///
/// A browser sends a page's requests wherever the page's own name points to. Who owns a name can let it point to
/// 127.0.0.1, or to an address of a house, after the page was loaded (DNS rebinding): the page then talks to a server
/// that its owner cannot reach, as if it had come from there. What gives it away is the name in `Host`. A server that
/// is reached at an address of the open net needs no such care, since everybody can ask it directly; and one with a
/// certificate for its name is safe too, since the page's name is not in it.
struct HostPolicy: Sendable {
    private let allowsAll: Bool
    private let names: Set<String>
    private let ownNames: Set<String>
    private let isProvenByTLS: Bool

    /// - Parameters:
    ///   - hosts: `http.hosts`, and the host of `http.publicURL`.
    ///   - machineName: as `gethostname` says.
    ///   - isProvenByTLS: clients check a certificate that somebody gave to this server's name.
    init(hosts: [String], machineName: String, isProvenByTLS: Bool) {
        allowsAll = hosts.contains("*")
        names = Set(hosts.map { HostName($0).text })
        let machine = HostName(machineName).text
        let short = String(machine.prefix { $0 != "." })
        // Names that the machine has in its own house: as it is called, and as mDNS (RFC 6762) and home routers call
        // it.
        ownNames = machine.isEmpty ? [] : [machine, short, short + ".local", short + ".lan", short + ".localdomain"]
        self.isProvenByTLS = isProvenByTLS
    }

    /// - Parameter machineName: as `gethostname` says; an argument for tests.
    init(_ settings: TesseraConfiguration.HTTP, machineName: String = ProcessInfo.processInfo.hostName) {
        self.init(
            hosts: settings.hosts + (WebOrigin(settings.publicURL).map { [$0.host] } ?? []), machineName: machineName,
            isProvenByTLS: !settings.tls.certificate.isEmpty)
    }

    /// Whether the request may be a page's that has let its own name point to us.
    func mayBeRebinding(_ source: RequestSource) -> Bool {
        if allowsAll || isProvenByTLS || source.isFromTrustedProxy { return false }
        // A browser always says whom it asks.
        guard let local = source.local, local.isLocalScope, let host = source.hosts.first else { return false }
        let name = HostName(host)
        if name.isLoopback || name.address != nil || names.contains(name.text) || ownNames.contains(name.text) {
            return false
        }
        // A name without a dot is one of the neighbourhood (a container's, a short name): nobody can buy it. On
        // loopback not even that.
        return name.text.isEmpty || name.text.contains(".") || local.isLoopback
    }

    static func explanation(_ host: String) -> String {
        "this server does not know the name \(host.prefix(100)); set http.hosts to the names by which people call it, or http.trustedProxies "
            + "to the address of the proxy in front"
    }
}
