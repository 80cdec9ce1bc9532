/// A host name or address and a port, as a listening address is written: `0.0.0.0:8080`, `[::]:8080`, `localhost:8080`.
public struct Endpoint: Sendable, Hashable, CustomStringConvertible {
    public var host: String
    public var port: UInt16

    /// The ports that a URL can name. With a greater one, which `Foundation.URL` reads, `SocketAddress(ipAddress:port:)`
    /// of SwiftNIO 2.101 ends the process.
    public static let ports = 1...65_535

    /// Whether a host's name can have this byte: letters, digits, `-` and `.`.
    package static func isHost(_ byte: UInt8) -> Bool {
        (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte) || byte == 45 || byte == 46
    }

    public init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// nil unless the text is `HOST:PORT` with a plausible host; an IPv6 address stands in brackets.
    public init?(_ text: String) {
        if let address = SocketAddress(text) {
            self.init(host: address.ip.description, port: address.port)
            return
        }
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            return nil
        }
        let host = text[..<colon]
        // Digits and dots alone are a mistyped IPv4 address, not a name.
        guard !host.isEmpty, host.utf8.count <= 253, host.utf8.allSatisfy(Self.isHost),
            host.contains(where: \.isLetter)
        else { return nil }
        self.init(host: String(host), port: port)
    }

    public var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
