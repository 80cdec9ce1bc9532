import Basics
import FoundationEssentials

/// The name in a `Host` header, without its port.
struct HostName: Hashable, Sendable {
    /// In lower case, without the final dot that a full name may have; empty for an invalid name.
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

/// The names that this server accepts in `Host`.
///
/// A browser sends a page's requests to the address to which the page's name resolves. The owner of a name can let it
/// resolve to 127.0.0.1, or to an address of a local network, after the page was loaded (DNS rebinding): the page then
/// reaches a server that its owner cannot reach, as if it came from that server. Only the name in `Host` shows this. A
/// server at a public address needs no such check, since everybody can reach it directly; neither does one with a
/// certificate for its name, since the page's name is not in it.
package struct HostPolicy: Sendable {
    private let allowsAll: Bool
    private let names: Set<String>
    private let ownNames: Set<String>
    private let isProvenByTLS: Bool

    /// - Parameters:
    ///   - hosts: `http.hosts`, and the host of `http.publicURL`.
    ///   - machineName: the result of `gethostname`.
    ///   - isProvenByTLS: clients check a certificate for this server's name.
    package init(hosts: [String], machineName: String, isProvenByTLS: Bool) {
        allowsAll = hosts.contains("*")
        names = Set(hosts.map { HostName($0).text })
        let machine = HostName(machineName).text
        let short = String(machine.prefix { $0 != "." })
        // The machine's names in its local network: its own, and those that mDNS (RFC 6762) and home routers give it.
        ownNames = machine.isEmpty ? [] : [machine, short, short + ".local", short + ".lan", short + ".localdomain"]
        self.isProvenByTLS = isProvenByTLS
    }

    /// Whether the request may come from a page whose name was made to resolve to this server.
    package func mayBeRebinding(_ source: RequestSource) -> Bool {
        if allowsAll || isProvenByTLS || source.isFromTrustedProxy { return false }
        // A browser always sends `Host`.
        guard let local = source.local, local.isLocalScope, let host = source.hosts.first else { return false }
        let name = HostName(host)
        if name.isLoopback || name.address != nil || names.contains(name.text) || ownNames.contains(name.text) {
            return false
        }
        // A name without a dot is local (a container's, a short name) and cannot be registered. On loopback even such
        // names are refused.
        return name.text.isEmpty || name.text.contains(".") || local.isLoopback
    }

    package static func explanation(_ host: String) -> String {
        "this server does not know the name \(host.prefix(100)); set http.hosts to the names by which people call it, or http.trustedProxies "
            + "to the address of the proxy in front"
    }
}
