package import Basics
package import HTTPTypes
package import NIOHTTP1

/// The source of a request, from its connection and, behind a trusted proxy, from the proxy's headers.
package struct RequestSource: Sendable {
    /// The address whose limits apply; nil only without a connection.
    package let client: IPAddress?
    /// The names that the client uses for this server: `Host` and, from a trusted proxy, `X-Forwarded-Host`.
    package let hosts: [String]
    /// The scheme that the client uses, in lower case, as a trusted proxy names it; nil: the connection's own.
    package let scheme: String?
    /// The server's address of the connection.
    package let local: IPAddress?
    /// The connection comes from one of `http.trustedProxies`.
    let isFromTrustedProxy: Bool
    /// The connection comes from this machine.
    let isFromLoopback: Bool
    /// A header shows that a proxy is between the client and the server.
    let namesProxy: Bool

    /// - Parameters:
    ///   - remote: the client's address of the connection.
    ///   - host: the unchanged `Host` header.
    ///   - headers: the proxy's headers.
    package init(
        remote: IPAddress?, local: IPAddress?, host: String?, headers: ProxyHeaders, trustedProxies: [IPNetwork]
    ) {
        let remote = remote?.unmapped
        let isTrusted: (IPAddress) -> Bool = { address in trustedProxies.contains { $0.contains(address) } }
        isFromTrustedProxy = remote.map(isTrusted) ?? false
        isFromLoopback = remote?.isLoopback ?? false
        namesProxy = headers.namesProxy
        self.local = local?.unmapped
        guard isFromTrustedProxy, let remote else {
            client = remote
            hosts = [host].compactMap { $0 }
            scheme = nil
            return
        }
        // Each proxy appends the address of its client to the list, so any client may have written the entries before
        // the last address that is no trusted proxy.
        var nearest = remote
        for hop in headers.hops.reversed() {
            guard isTrusted(nearest), let hop else { break }
            nearest = hop
        }
        client = nearest
        hosts = [host, headers.host].compactMap { $0 }
        scheme = headers.scheme
    }

    /// The source of a request that another node of the cluster passes on: its client as that node found it. It is never
    /// this machine's administrator, and has no name that this server has to check.
    ///
    /// - Parameter address: by which the client reaches that node; nil: unknown.
    package init(forwardedFor client: IPAddress?, to address: PublicAddress?) {
        self.client = client
        hosts = address.map { [$0.authority] } ?? []
        scheme = address.map { $0.isSecure ? "https" : "http" }
        local = nil
        isFromTrustedProxy = true
        isFromLoopback = false
        namesProxy = true
    }

    /// Whether the sender may administer without a token: it is on this machine, uses a name of this machine only, and
    /// no proxy is between.
    ///
    /// A page whose name was made to resolve to 127.0.0.1 (DNS rebinding) sends that name, and a proxy on this machine
    /// sends the name that its clients use, or a header.
    package var isLocalAdministrator: Bool {
        guard isFromLoopback, !isFromTrustedProxy, !namesProxy, hosts.count == 1, let host = hosts.first else {
            return false
        }
        return HostName(host).isLoopback
    }
}

/// The proxy headers of a request, from either library's type.
package struct ProxyHeaders: Sendable {
    /// Headers that only proxies and similar services add, in lower case.
    private static let names: Set<String> = [
        "forwarded", "via", "x-real-ip", "true-client-ip", "x-client-ip", "x-cluster-client-ip", "x-proxyuser-ip",
        "client-ip", "cdn-loop",
        "x-host", "x-http-host-override", "proxy-connection", "wl-proxy-client-ip", "proxy-client-ip",
    ]
    private static let prefixes = [
        "x-forwarded", "cf-", "x-envoy-", "x-azure-", "x-arr-", "x-amzn-", "x-amz-cf-", "x-appengine-", "x-vercel-",
        "x-original-", "fly-",
        "fastly-", "x-tailscale-", "tailscale-", "x-ngrok-",
    ]
    /// The entries of a list that are read: a chain of proxies is short.
    private static let maxHops = 32

    let namesProxy: Bool
    /// The addresses of `X-Forwarded-For` or, without one, of `Forwarded`, in their order; nil for an entry that is no
    /// address (`unknown`, a name).
    let hops: [IPAddress?]
    /// The last entry of `X-Forwarded-Host`, or of `host=` in `Forwarded`: the nearest proxy's name in its client's
    /// request.
    package let host: String?
    /// The same of `X-Forwarded-Proto`, or of `proto=`: `https`, in lower case.
    package let scheme: String?

    package init(_ fields: HTTPFields) {
        self.init(fields.map { ($0.name.canonicalName, $0.value) })
    }

    package init(_ headers: HTTPHeaders) {
        self.init(headers.map { ($0.name.lowercased(), $0.value) })
    }

    /// - Parameter fields: names in lower case.
    package init(_ fields: [(name: String, value: String)]) {
        namesProxy = fields.contains { field in
            ProxyHeaders.names.contains(field.name) || ProxyHeaders.prefixes.contains { field.name.hasPrefix($0) }
        }
        guard namesProxy else {
            (hops, host, scheme) = ([], nil, nil)
            return
        }
        func list(_ name: String) -> [Substring] {
            fields.filter { $0.name == name }.flatMap { $0.value.split(separator: ",") }.suffix(ProxyHeaders.maxHops)
        }
        let forwarded = list("forwarded").map { ForwardedElement($0) }
        // Nearly every proxy writes or overwrites `X-Forwarded-For`; `Forwarded` counts only where it is alone.
        let plain = list("x-forwarded-for")
        hops = plain.isEmpty ? forwarded.map(\.address) : plain.map { ForwardedElement.address($0) }
        host = list("x-forwarded-host").last.map { String($0.filter { $0 != " " }) } ?? forwarded.last?.host
        scheme = list("x-forwarded-proto").last.map { $0.filter { $0 != " " }.lowercased() } ?? forwarded.last?.scheme
    }
}

/// One element of `Forwarded` (RFC 7239 §4): `for="[2001:db8::1]:4711";host=meet.example;proto=https`.
private struct ForwardedElement {
    var address: IPAddress?
    var host: String?
    var scheme: String?

    init(_ text: Substring) {
        for pair in text.split(separator: ";") {
            guard let equals = pair.firstIndex(of: "=") else { continue }
            let value = pair[pair.index(after: equals)...].filter { $0 != "\"" && $0 != " " }
            switch pair[..<equals].filter({ $0 != " " }).lowercased() {
            case "for": address = ForwardedElement.address(value[...])
            case "host": host = value
            case "proto": scheme = value.lowercased()
            default: break
            }
        }
    }

    /// `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]:80`.
    static func address(_ text: Substring) -> IPAddress? {
        let text = text.filter { $0 != " " }
        if let address = IPAddress(text) { return address.unmapped }
        if let address = Basics.SocketAddress(text) { return address.ip.unmapped }
        if text.first == "[", text.last == "]" { return IPAddress(text.dropFirst().dropLast())?.unmapped }
        return nil
    }
}
