/// The origins of web pages that may use this server.
struct OriginPolicy: Sendable {
    private let allowsAll: Bool
    private let allowed: Set<WebOrigin>
    /// The server's names in the settings: pages of these hosts are allowed at every port.
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

    /// Whether a request may pass: clients without `Origin`, which are no web pages, pages of the server's own host,
    /// and listed origins may.
    ///
    /// `hosts`: the server's names in the request (`Host` and, from a trusted proxy, `X-Forwarded-Host`). The scheme is
    /// not compared, since a proxy may terminate TLS. `apps`: fixed origins that apps send, which are no web pages.
    func allows(origin text: String?, hosts: [String], apps: Set<WebOrigin> = []) -> Bool {
        guard let text else { return true }
        if allowsAll { return true }
        guard let origin = WebOrigin(text) else { return false }
        if allowed.contains(origin) || apps.contains(origin) || ownHosts.contains(origin.host) { return true }
        return hosts.contains { host in
            guard let own = WebOrigin.split(host), own.host == origin.host else { return false }
            return own.port.map { $0 == origin.port } ?? (origin.port == 80 || origin.port == 443)
        }
    }
}
