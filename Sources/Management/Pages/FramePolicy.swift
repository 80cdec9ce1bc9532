package import HTTPTypes
import WebServer

/// The sites whose pages may show this server's pages in a frame (`http.frameAncestors`).
package struct FramePolicy: Sendable {
    /// The value of the CSP directive (CSP Level 3 §6.4.2), without its name.
    let ancestors: String
    /// The value of `X-Frame-Options` (RFC 7034), for browsers without CSP Level 2; nil where that header cannot say
    /// the same, since it knows no list of sites.
    let frameOptions: String?

    /// - Parameter origins: `http.frameAncestors`; empty: no page may, not even the server's own.
    package init(_ origins: [String]) {
        if origins.isEmpty {
            (ancestors, frameOptions) = ("'none'", "DENY")
        } else if origins.contains("*") {
            (ancestors, frameOptions) = ("*", nil)
        } else {
            // Only the parsed parts of an origin get into the header.
            let sites = origins.compactMap { WebOrigin($0)?.description }
            (ancestors, frameOptions) = ((["'self'"] + sites).joined(separator: " "), nil)
        }
    }

    /// Adds the headers of an HTML page.
    ///
    /// - Parameter scripts: the SHA-256 in Base64 of each script within the page; no other one in it is run.
    package func add(to headers: inout HTTPFields, scripts: [String]) {
        let own = scripts.isEmpty ? "" : "; script-src 'self'" + scripts.map { " 'sha256-\($0)'" }.joined()
        headers[.contentSecurityPolicy] = WebAssets.contentSecurityPolicy + own + "; frame-ancestors " + ancestors
        headers[.xFrameOptions] = frameOptions
    }
}

extension HTTPField.Name {
    package static let xFrameOptions = HTTPField.Name("X-Frame-Options") ?? .accept
}
