package import Basics

/// The URL of media at another server, which may carry credentials: user and password, a stream key in the path, or
/// secrets in the query.
///
/// `redacted` is the only form that leaves the server by logs, answers and events.
package struct MediaURL: Hashable, Sendable, CustomStringConvertible {
    /// In lower case.
    package let scheme: String
    /// `user` or `user:password`, as written; nil: none.
    package let userInfo: String?
    /// A name in lower case, or an address without brackets.
    package let host: String
    /// nil: the scheme's own.
    package let port: UInt16?
    /// From the `/` after the host on, without the query; empty: none.
    package let path: String
    /// The text after the first `?`, as written; nil: none.
    package let query: String?

    /// The longest URL in bytes.
    package static let maxLength = 2048

    /// Reads `scheme://[user[:password]@]host[:port][/path][?query]` of printable ASCII; nil for anything else.
    package init?(_ text: String) {
        guard text.utf8.count <= Self.maxLength, text.utf8.allSatisfy({ (33...126).contains($0) }),
            let mark = text.firstRange(of: "://")
        else { return nil }
        scheme = text[..<mark.lowerBound].lowercased()
        guard let first = scheme.utf8.first, (97...122).contains(first), scheme.utf8.count <= 16,
            scheme.utf8.allSatisfy({ (97...122).contains($0) || (48...57).contains($0) })
        else { return nil }
        let rest = text[mark.upperBound...]
        let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
        var authority = rest[..<end]
        if let at = authority.lastIndex(of: "@") {
            userInfo = String(authority[..<at])
            authority = authority[authority.index(after: at)...]
        } else {
            userInfo = nil
        }
        guard let (host, port) = Self.hostAndPort(authority) else { return nil }
        (self.host, self.port) = (host, port)
        let tail = rest[end...]
        let question = tail.firstIndex(of: "?")
        path = String(tail[..<(question ?? tail.endIndex)])
        query = question.map { String(tail[tail.index(after: $0)...]) }
    }

    private static func hostAndPort(_ authority: Substring) -> (String, UInt16?)? {
        var host = authority
        var port: UInt16?
        let isBracketed = authority.first == "["
        let hostEnd = isBracketed ? authority.firstIndex(of: "]").map(authority.index(after:)) : authority.startIndex
        guard let hostEnd else { return nil }
        if let colon = authority[hostEnd...].lastIndex(of: ":") {
            let digits = authority[authority.index(after: colon)...]
            guard (1...5).contains(digits.utf8.count), digits.utf8.allSatisfy({ (48...57).contains($0) }),
                let number = UInt16(digits), number > 0
            else { return nil }
            port = number
            host = authority[..<colon]
        }
        if isBracketed {
            guard host.last == "]", case .v6(let high, let low)? = IPAddress(host.dropFirst().dropLast()) else {
                return nil
            }
            return ("\(IPAddress.v6(high, low))", port)
        }
        if let address = IPAddress(host) {
            guard case .v4 = address else { return nil }
            return ("\(address)", port)
        }
        let name = host.lowercased()
        return isName(name) ? (name, port) : nil
    }

    /// Whether the text is a host's name. `127.1`, `2130706433` and `0x7f.1` are none: the C library reads them as
    /// addresses.
    static func isName(_ text: String) -> Bool {
        let labels = text.split(separator: ".", omittingEmptySubsequences: false)
        guard (1...253).contains(text.utf8.count), let last = labels.last(where: { !$0.isEmpty }),
            let first = last.utf8.first, !(48...57).contains(first)
        else { return false }
        // A dot at the end makes a name absolute.
        return labels.dropLast(labels.last?.isEmpty == true && labels.count > 1 ? 1 : 0).allSatisfy { label in
            (1...63).contains(label.utf8.count)
                && label.utf8.allSatisfy {
                    (97...122).contains($0) || (48...57).contains($0) || $0 == 45 || $0 == 95
                }
        }
    }

    /// The literal address of the host; nil: it is a name.
    package var address: IPAddress? { IPAddress(host) }

    /// The URL with all credentials.
    package var text: String { text(host: bracketed(host)) }
    /// The same with an address instead of the host.
    package func text(at address: IPAddress) -> String { text(host: bracketed("\(address)")) }

    private func text(host: String) -> String {
        scheme + "://" + (userInfo.map { $0 + "@" } ?? "") + host + (port.map { ":\($0)" } ?? "") + path
            + (query.map { "?" + $0 } ?? "")
    }

    /// `host:port`, with the brackets of an IPv6 address.
    package var authority: String { bracketed(host) + (port.map { ":\($0)" } ?? "") }
    private func bracketed(_ host: String) -> String { host.contains(":") ? "[\(host)]" : host }

    package var description: String { redacted }
}
