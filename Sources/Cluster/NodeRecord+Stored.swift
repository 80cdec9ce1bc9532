import Basics
import Foundation

extension NodeRecord {
    /// Whether a text can be a zone and, unless it is empty, an id: at most 63 letters, digits, `-` and `.`.
    package static func isName(_ text: String) -> Bool {
        text.utf8.count <= 63 && text.utf8.allSatisfy(Endpoint.isHost)
    }

    /// Whether a record of the store can be used. Somebody else wrote it, and every node connects to its URL.
    var isUsable: Bool {
        !id.isEmpty && Self.isName(id) && Self.isName(zone) && (1...64).contains(incarnation.utf8.count)
            && version.utf8.count <= 64 && Self.isBase(url)
    }

    /// Whether a text is the URL of a listener.
    private static func isBase(_ text: String) -> Bool {
        guard ClusterSettings.isURL(text), let url = URL(string: text) else { return false }
        return url.path().isEmpty && url.query() == nil && url.fragment() == nil && url.user() == nil
    }
}

extension NodeLoad {
    /// Whether a load of the store can be one. Its numbers go into sums and tables.
    var isUsable: Bool {
        let counts = 0...1_000_000_000
        return (0...1000).contains(used) && counts.contains(rooms) && counts.contains(seats)
    }
}
