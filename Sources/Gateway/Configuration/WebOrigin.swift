/// Where a web page comes from: scheme, host and port (RFC 6454 §4), in the form of the `Origin` header.
struct WebOrigin: Hashable, Sendable {
    var scheme: String
    var host: String
    var port: UInt16

    /// nil for anything but `http://HOST[:PORT]` and `https://HOST[:PORT]`.
    init?(_ text: some StringProtocol) {
        let text = text.lowercased()
        let rest: Substring
        if text.hasPrefix("https://") {
            (scheme, port, rest) = ("https", 443, text.dropFirst(8))
        } else if text.hasPrefix("http://") {
            (scheme, port, rest) = ("http", 80, text.dropFirst(7))
        } else {
            return nil
        }
        guard let (host, port) = WebOrigin.split(rest) else { return nil }
        self.host = host
        if let port { self.port = port }
    }

    /// `meet.example:8443`, `[::1]:80`, `meet.example`: host and port, if it has one.
    static func split(_ authority: some StringProtocol) -> (host: String, port: UInt16?)? {
        var host = authority[...]
        var port: UInt16?
        let bracket = authority.lastIndex(of: "]")
        if let colon = authority.lastIndex(of: ":"), bracket.map({ $0 < colon }) ?? true {
            guard let value = UInt16(authority[authority.index(after: colon)...]) else { return nil }
            port = value
            host = authority[..<colon]
        }
        let isAllowed = host.utf8.allSatisfy { byte in
            (48...58).contains(byte) || (65...91).contains(byte) || (97...122).contains(byte) || byte == 93 || byte == 45 || byte == 46 || byte == 95
        }
        guard !host.isEmpty, isAllowed else { return nil }
        return (host.lowercased(), port)
    }
}

/// Which web pages may talk to us.
struct OriginPolicy: Sendable {
    private let allowsAll: Bool
    private let allowed: Set<WebOrigin>
    /// Names that the settings give to this server: pages of theirs are ours, at every port.
    private let ownHosts: Set<String>

    init(allowed texts: [String], ownHosts: [String] = []) {
        allowsAll = texts.contains("*")
        allowed = Set(texts.compactMap { WebOrigin($0) })
        self.ownHosts = Set(ownHosts.filter { $0 != "*" }.map { HostName($0).text })
    }

    init(_ settings: TesseraConfiguration.HTTP) {
        self.init(
            allowed: settings.allowedOrigins,
            ownHosts: settings.hosts + (WebOrigin(settings.publicURL).map { [$0.host] } ?? []))
    }

    /// A client without `Origin` is not a web page and may pass; a page of our own host may; others if they are listed.
    ///
    /// `hosts`: what the request says our name is (`Host` and, from a trusted proxy, `X-Forwarded-Host`). Only name and port are
    /// compared, since a proxy may end TLS before us.
    func allows(origin text: String?, hosts: [String]) -> Bool {
        guard let text else { return true }
        if allowsAll { return true }
        guard let origin = WebOrigin(text) else { return false }
        if allowed.contains(origin) || ownHosts.contains(origin.host) { return true }
        return hosts.contains { host in
            guard let own = WebOrigin.split(host), own.host == origin.host else { return false }
            return own.port.map { $0 == origin.port } ?? (origin.port == 80 || origin.port == 443)
        }
    }
}
