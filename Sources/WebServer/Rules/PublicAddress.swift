import Basics
import FoundationEssentials

/// The address by which a client reaches this server, for the URLs in answers: `http.publicURL`, or what the request
/// and a trusted proxy name.
package struct PublicAddress: Hashable, Sendable {
    /// Whether clients use TLS.
    package let isSecure: Bool
    /// As in the `Host` header: `meet.example`, `192.0.2.1:8080`, `[::1]:8080`.
    package let authority: String

    package init(isSecure: Bool, authority: String) {
        self.isSecure = isSecure
        self.authority = authority
    }

    /// - Parameters:
    ///   - publicURL: `http.publicURL`; empty: unknown.
    ///   - usesTLS: this server's own connections use TLS.
    package init(publicURL: String, source: RequestSource, usesTLS: Bool) {
        if let origin = WebOrigin(publicURL) {
            let isSecure = origin.scheme == "https"
            let isUsual = origin.port == (isSecure ? 443 : 80)
            self.init(isSecure: isSecure, authority: isUsual ? origin.host : "\(origin.host):\(origin.port)")
            return
        }
        // The proxy's name for this server is the last one.
        let name = source.hosts.last { WebOrigin.split($0) != nil }
        self.init(isSecure: source.scheme.map { $0 == "https" } ?? usesTLS, authority: name ?? "localhost")
    }

    /// `https://meet.example/r/room`.
    ///
    /// - Parameter path: from its first slash on, with what has to be percent-encoded in it.
    package func http(_ path: String) -> String { (isSecure ? "https://" : "http://") + authority + path }

    /// `wss://meet.example/ws`.
    package func webSocket(_ path: String) -> String { (isSecure ? "wss://" : "ws://") + authority + path }

    /// A room's id as one segment of a path.
    package static func segment(_ room: String) -> String {
        room.percentEncoded()
    }
}
