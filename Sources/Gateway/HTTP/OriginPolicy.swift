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
    /// `hosts`: what the request says our name is (`Host` and, from a trusted proxy, `X-Forwarded-Host`). Only name and
    /// port are compared, since a proxy may end TLS before us.
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
