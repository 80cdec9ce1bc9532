/// The origin of a web page: scheme, host and port (RFC 6454 §4), in the form of the `Origin` header.
package struct WebOrigin: Hashable, Sendable, CustomStringConvertible {
    package var scheme: String
    package var host: String
    package var port: UInt16

    /// nil unless the text is `http://HOST[:PORT]` or `https://HOST[:PORT]`.
    package init?(_ text: some StringProtocol) {
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

    /// The origin in an `Origin` header of a browser or of an app. The WebSocket libraries of apps send forms of their
    /// server's origin that no browser sends: `ws://HOST[:PORT]` and `wss://HOST[:PORT]` (Starscream 3 and 4), and a
    /// final slash (SRWebSocket). They count as the origin of a page there, which has the same rights.
    package init?(sent text: some StringProtocol) {
        var text = text.lowercased()[...]
        if text.hasSuffix("/") { text.removeLast() }
        if text.hasPrefix("ws://") || text.hasPrefix("wss://") { text = "http" + text.dropFirst(2) }
        self.init(text)
    }

    /// In the form of the `Origin` header: a scheme's own port is left out.
    package var description: String {
        let ownPort = scheme == "https" ? 443 : 80
        return "\(scheme)://\(host)" + (Int(port) == ownPort ? "" : ":\(port)")
    }

    /// `meet.example:8443`, `[::1]:80`, `meet.example`: host and port, if it has one.
    package static func split(_ authority: some StringProtocol) -> (host: String, port: UInt16?)? {
        var host = authority[...]
        var port: UInt16?
        let bracket = authority.lastIndex(of: "]")
        if let colon = authority.lastIndex(of: ":"), bracket.map({ $0 < colon }) ?? true {
            guard let value = UInt16(authority[authority.index(after: colon)...]) else { return nil }
            port = value
            host = authority[..<colon]
        }
        let isAllowed = host.utf8.allSatisfy { byte in
            (48...58).contains(byte) || (65...91).contains(byte) || (97...122).contains(byte) || byte == 93
                || byte == 45 || byte == 46 || byte == 95
        }
        guard !host.isEmpty, isAllowed else { return nil }
        return (host.lowercased(), port)
    }
}
