import Basics
import Conference
import FoundationEssentials

/// What the URL of a WebRTC demo client says: `/ROOM?name=N&token=T&pin=P`. The protocol itself has neither room nor name.
package struct WebRTCDemoTarget: Sendable, Equatable {
    package var room: String
    /// nil where the URL has none, or none that can be shown.
    package var name: String?
    package var token: String?
    package var pin: String?

    /// - Parameters:
    ///   - uri: the path and the query of the handshake, of which `WebSocketEndpoint.Pattern.room` took the path.
    ///   - defaultRoom: the room of the path `/`.
    package init(uri: String, defaultRoom: String) {
        let parts = uri.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let path = String(parts[0].drop { $0 == "/" })
        room = path.isEmpty ? defaultRoom : path.percentDecoded ?? path
        guard parts.count == 2 else { return }
        for pair in parts[1].split(separator: "&").prefix(32) {
            let member = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard member.count == 2, let value = member[1].replacing("+", with: " ").percentDecoded else {
                continue
            }
            switch member[0] {
            case "name": name = name ?? Names.shown(value)
            case "token": token = token ?? value
            case "pin": pin = pin ?? value
            default: break
            }
        }
    }
}
