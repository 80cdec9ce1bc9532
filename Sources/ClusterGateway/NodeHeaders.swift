package import Admission
package import Basics
package import Cluster
import FoundationEssentials
package import HTTPTypes
package import NIOHTTP1
package import WebServer

/// The headers of requests between nodes.
package struct NodeHeaders: Sendable {
    package static let token = "Tessera-Cluster"
    package static let client = "Tessera-Client"
    /// How the client calls the server: `https://meet.example`.
    package static let address = "Tessera-Address"
    package static let epoch = "Tessera-Epoch"
    /// In a request the room's owner as the sender knows it, in an answer 421 as the answering node knows it.
    package static let owner = "Tessera-Owner"
    /// The room of a WebSocket, percent-encoded.
    package static let room = "Tessera-Room"
    /// The maximum segment of a raw TCP client's path, in bytes.
    package static let segment = "Tessera-Segment"
    package static let refused = PeerRefusal.header
    /// Of answers 503 of a node that takes no room now: another node may.
    package static let full = "Tessera-Full"
    /// Of lists: the nodes that did not answer.
    package static let incomplete = "Tessera-Incomplete"

    /// The address whose limits apply.
    package var client: IPAddress?
    package var address: PublicAddress
    package var owner: RoomOwner?
    package var room: String?

    package init(client: IPAddress?, address: PublicAddress, owner: RoomOwner? = nil, room: String? = nil) {
        self.client = client
        self.address = address
        self.owner = owner
        self.room = room
    }

    /// - Parameter token: of the sending node.
    package func fields(_ token: String) -> [(name: String, value: String)] {
        var fields = [(Self.token, token), (Self.address, address.http(""))]
        if let client { fields.append((Self.client, "\(client)")) }
        if let owner { fields += [(Self.owner, owner.node.id), (Self.epoch, String(owner.epoch))] }
        if let room { fields.append((Self.room, PublicAddress.segment(room))) }
        return fields
    }

    /// Whether a client's header goes to the owner: none that concerns the connection (RFC 9110 §7.6.1), none of nodes,
    /// and none of proxies, which the front has read.
    package static func passes(_ name: String) -> Bool {
        let name = name.lowercased()
        return !ofConnection.contains(name) && !name.hasPrefix("tessera-") && !name.hasPrefix("x-forwarded")
            && !name.hasPrefix("sec-websocket-") && name != "forwarded" && name != "x-real-ip"
    }

    private static let ofConnection: Set<String> = [
        "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer",
        "transfer-encoding", "upgrade", "content-length", "expect", "http2-settings", "host",
    ]

    /// Whether an answer's header goes to the client.
    package static func returns(_ name: String) -> Bool {
        let name = name.lowercased()
        return !["connection", "keep-alive", "transfer-encoding", "upgrade", "trailer", "te", "server", "date"]
            .contains(name) && !name.hasPrefix("tessera-")
    }
}

extension HTTPField.Name {
    static let nodeToken = HTTPField.Name(NodeHeaders.token) ?? .accept
    static let nodeClient = HTTPField.Name(NodeHeaders.client) ?? .accept
    static let nodeAddress = HTTPField.Name(NodeHeaders.address) ?? .accept
    static let nodeEpoch = HTTPField.Name(NodeHeaders.epoch) ?? .accept
    static let nodeOwner = HTTPField.Name(NodeHeaders.owner) ?? .accept
    static let nodeRefused = HTTPField.Name(NodeHeaders.refused) ?? .accept
    static let nodeFull = HTTPField.Name(NodeHeaders.full) ?? .accept
    package static let incomplete = HTTPField.Name(NodeHeaders.incomplete) ?? .accept
}

/// What lets requests in at the internal listener: the token of a node.
package struct NodeGate: ServerGate {
    package let tokens: NodeToken

    package init(tokens: NodeToken) {
        self.tokens = tokens
    }

    /// The source of a request of a node: the client as the front found it, never this machine's administrator; nil
    /// without a valid token.
    ///
    /// - Parameter field: the value of a header.
    package func source(_ field: (String) -> String?) -> RequestSource? {
        guard let token = field(NodeHeaders.token), tokens.verify(token) != nil else { return nil }
        return RequestSource(
            forwardedFor: field(NodeHeaders.client).flatMap { IPAddress($0) }?.unmapped,
            to: field(NodeHeaders.address).flatMap { PublicAddress(url: $0) })
    }

    /// Why a request has no source.
    package func refusal(_ headers: HTTPFields) -> (why: PeerRefusal, node: String?) {
        let token = headers[.nodeToken]
        return token.flatMap { tokens.refusal(of: $0) } ?? (.secret, nil)
    }

    package func source(_ headers: HTTPHeaders) -> RequestSource? { source { headers.first(name: $0) } }

    package func source(_ headers: HTTPFields) -> RequestSource? {
        source { name in HTTPField.Name(name).flatMap { headers[$0] } }
    }
}

extension PublicAddress {
    /// Reads `https://meet.example:8443`; nil for any other text.
    package init?(url: String) {
        for (scheme, isSecure) in [("https://", true), ("http://", false)] where url.hasPrefix(scheme) {
            let authority = String(url.dropFirst(scheme.count))
            guard WebOrigin.split(authority) != nil else { return nil }
            self.init(isSecure: isSecure, authority: authority)
            return
        }
        return nil
    }
}
