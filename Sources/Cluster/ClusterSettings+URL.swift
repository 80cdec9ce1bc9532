import Basics
import Foundation

extension ClusterSettings {
    /// Whether a text is a URL by which nodes can connect. AsyncHTTPClient connects to files by other schemes.
    package static func isURL(_ text: String) -> Bool {
        guard text.utf8.count <= 512, let url = URL(string: text), url.scheme == "http" || url.scheme == "https",
            let host = url.host(), !host.isEmpty
        else { return false }
        return Endpoint.ports.contains(url.port ?? 443)
    }
}
