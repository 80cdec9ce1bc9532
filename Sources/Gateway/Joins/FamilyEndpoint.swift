import Basics
import Conference
import Logging

/// The endpoint of one family of clients (`doors.*`).
protocol FamilyEndpoint: Sendable {
    func addRoutes(to table: inout RouteTable)
    var webSocketEndpoints: [WebSocketEndpoint] { get }
    var samples: [MetricSample] { get }
    /// What the family's clients have to be set to, for the log.
    ///
    /// - Parameter server: the server's address as a client on this machine has it.
    func announcement(at server: PublicAddress) -> String
    /// Ends the connections of clients outside of rooms. Those in rooms have got `left` from their rooms.
    func drain()
}

extension FamilyEndpoint {
    func addRoutes(to table: inout RouteTable) {}
    var webSocketEndpoints: [WebSocketEndpoint] { [] }
    var samples: [MetricSample] { [] }
}

/// What endpoints of families ask of the cluster.
protocol FamilyCluster: Sendable {
    /// Places a room here, for clients that cannot be proxied.
    ///
    /// - Throws: `overloaded` where another node has it.
    func placeHere(_ room: String) async throws(Refusal)
    /// - Parameter end: ends every session of the Socket.IO family, which another node has.
    func onLossOfSocketIO(_ end: @escaping @Sendable () -> Void)
}

/// What all families need.
struct FamilyServices: Sendable {
    let joins: JoinService
    let iceServers: ICEServers
    let statistics: GatewayMetrics
    let configuration: TesseraConfiguration
    /// nil: there is no cluster.
    var cluster: (any FamilyCluster)?
    let logger: Logger
}

extension JoinRequest {
    /// Chat by the data channel of the apps that descend from the WebRTC demo. The server opens one too: these apps send
    /// on the server's channel, and hear on their own.
    mutating func chatsByAppChannel() {
        media.opensChannels = ["WebRTCData"]
        chatChannel = "WebRTCData"
    }
}
