import Foundation

extension ClusterSettings {
    /// Whether a text is a URL by which nodes can connect. AsyncHTTPClient connects to files by other schemes, and a port
    /// that does not fit into 16 bits ends the process (`SocketAddress(ipAddress:port:)` of SwiftNIO 2.101).
    public static func isURL(_ text: String) -> Bool {
        guard text.utf8.count <= 512, let url = URL(string: text), url.scheme == "http" || url.scheme == "https",
            let host = url.host(), !host.isEmpty
        else { return false }
        return url.port.map { (1...65_535).contains($0) } ?? true
    }
}
