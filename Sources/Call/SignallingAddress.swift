import Basics
import FoundationEssentials

/// The address of a server's signalling, parsed from the user's text.
package struct SignallingAddress: Equatable, Sendable {
    var host: String
    var port: Int
    var isSecure: Bool
    /// Path and query.
    var path: String

    /// Whether the server is on this machine.
    var isHere: Bool { host == "localhost" || IPAddress(host)?.isLoopback == true }

    /// Reads `http://host:8080`, `https://host/`, `ws://host/signal`, `host:8080`.
    package init(_ text: String) throws(CallError) {
        let full = text.contains("://") ? text : "http://" + text
        guard let url = URLComponents(string: full), let scheme = url.scheme?.lowercased(), let host = url.host,
            !host.isEmpty, !host.contains(" ")
        else {
            throw CallError("'\(text)' is not a server address: write http://HOST:PORT or https://HOST")
        }
        guard ["http", "https", "ws", "wss"].contains(scheme) else {
            throw CallError("'\(text)': \(scheme) is not supported: use http, https, ws or wss")
        }
        if let port = url.port, !Endpoint.ports.contains(port) {
            throw CallError("'\(text)': a port is a number from 1 to 65535")
        }
        isSecure = scheme == "https" || scheme == "wss"
        self.host = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
        port = url.port ?? (isSecure ? 443 : 80)
        path = url.path.isEmpty || url.path == "/" || !url.path.hasSuffix("/signal") ? "/signal" : url.path
        if let query = url.percentEncodedQuery { path += "?" + query }
    }
}
