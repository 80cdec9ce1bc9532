import HTTPTypes
import NIOHTTP1

/// The origins of web pages that may use this server.
///
/// No endpoint knows its user by anything that a browser adds by itself to the requests of foreign pages (the cookie of
/// FLSocketIM's logins is `SameSite=Strict`); what such a page could use is the place of the browser in the network. A browser sets `Origin` itself, so the header proves which page
/// asks; an app may write there what it likes, and is asked for a room's token or PIN as everybody is.
package struct OriginPolicy: Sendable {
    private let allowsAll: Bool
    private let allowed: Set<WebOrigin>
    /// The server's names in the settings: pages of these hosts are allowed at every port.
    private let ownHosts: Set<String>

    package init(allowed texts: [String], ownHosts: [String] = []) {
        allowsAll = texts.contains("*")
        allowed = Set(texts.compactMap { WebOrigin(sent: $0) })
        self.ownHosts = Set(ownHosts.filter { $0 != "*" }.map { HostName($0).text })
    }

    /// Whether a request may pass: clients without `Origin`, which are no web pages, pages of the server's own host,
    /// and listed origins may.
    ///
    /// `hosts`: the server's names in the request (`Host` and, from a trusted proxy, `X-Forwarded-Host`). The scheme is
    /// not compared, since a proxy may terminate TLS.
    ///
    /// `apps`: fixed origins that apps send, whatever their server is. They say nothing where a browser sends them: then
    /// a page of that site asks.
    package func allows(origin text: String?, hosts: [String], apps: Set<WebOrigin> = [], isBrowser: Bool = true)
        -> Bool
    {
        guard let text else { return true }
        if allowsAll { return true }
        guard let origin = WebOrigin(sent: text) else { return false }
        if isTrusted(origin) || !isBrowser && apps.contains(origin) { return true }
        return hosts.contains { host in
            guard let own = WebOrigin.split(host), own.host == origin.host else { return false }
            return own.port.map { $0 == origin.port } ?? (origin.port == 80 || origin.port == 443)
        }
    }

    /// Whether the settings name the origin, other than by `*`.
    package func names(origin text: String) -> Bool { WebOrigin(sent: text).map(isTrusted) ?? false }

    private func isTrusted(_ origin: WebOrigin) -> Bool { allowed.contains(origin) || ownHosts.contains(origin.host) }

    /// Whether a browser sends the request: all of them name themselves `Mozilla/5.0`, which a page cannot change, and
    /// the newer ones add Fetch Metadata (W3C).
    static func isBrowser(_ headers: HTTPFields) -> Bool {
        isBrowser(userAgent: headers[.userAgent], fetchSite: headers[.secFetchSite])
    }

    /// The same for a handshake.
    static func isBrowser(_ headers: HTTPHeaders) -> Bool {
        isBrowser(userAgent: headers.first(name: "user-agent"), fetchSite: headers.first(name: "sec-fetch-site"))
    }

    private static func isBrowser(userAgent: String?, fetchSite: String?) -> Bool {
        fetchSite != nil || userAgent?.hasPrefix("Mozilla/") ?? false
    }
}
