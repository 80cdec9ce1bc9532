import Basics
import Cryptography
import FoundationEssentials
package import Settings
package import WebServer

/// The STUN and TURN servers for clients, with TURN REST credentials (draft-uberti-behave-turn-rest).
package struct ICEServers: Sendable {
    package var configuration: TesseraConfiguration.ICE

    package init(configuration: TesseraConfiguration.ICE) {
        self.configuration = configuration
    }

    /// An entry of RTCPeerConnection's `iceServers`.
    package struct Entry: Sendable, Equatable {
        package var urls: [String]
        package var username: String?
        var credential: String?

        package var json: JSONValue {
            .object(
                ["urls": .array(urls.map { .string($0) })],
                where: ["username": username.map { .string($0) }, "credential": credential.map { .string($0) }])
        }
    }

    /// The STUN servers only.
    package var entriesWithoutCredentials: [Entry] {
        configuration.stun.isEmpty ? [] : [Entry(urls: configuration.stun)]
    }

    /// - Parameters:
    ///   - user: who has the credentials. STUN messages and the TURN server's log show it: it is no secret.
    ///   - now: seconds since 1970; the credentials end `life` later.
    ///   - life: nil: `turn.ttl`.
    package func entries(for user: String, now: Int, life: Duration? = nil) -> [Entry] {
        var entries = entriesWithoutCredentials
        if !configuration.turn.urls.isEmpty {
            let username = "\(now + Int((life ?? configuration.turn.ttl).inSeconds)):\(user)"
            // SHA-1, as coturn's use-auth-secret requires.
            let code = HashFunction.sha1.authenticationCode(
                Array(username.utf8), key: Array(configuration.turn.secret.utf8))
            entries.append(
                Entry(urls: configuration.turn.urls, username: username, credential: Data(code).base64EncodedString()))
        }
        return entries
    }

    /// The values of `Link` headers (RFC 9725 §4.6), one for each URL.
    package func links(for user: String, now: Int) -> [String] {
        entries(for: user, now: now).flatMap { entry in
            entry.urls.map { url in
                var link = "<\(url)>; rel=\"ice-server\""
                if let username = entry.username, let credential = entry.credential {
                    link += "; username=\"\(username)\"; credential=\"\(credential)\"; credential-type=\"password\""
                }
                return link
            }
        }
    }
}
