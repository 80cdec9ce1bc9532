package import Basics
import Conference
package import Logging
package import Settings
package import WebServer

/// The endpoint of one family of clients (`doors.*`).
package protocol AppEndpoint: Sendable {
    func addRoutes(to table: inout RouteTable)
    var sockets: [RoomSocket] { get }
    var samples: [MetricSample] { get }
    /// What the family's clients have to be set to, for the log.
    ///
    /// - Parameter server: the server's address as a client on this machine has it.
    func announcement(at server: PublicAddress) -> String
    /// Ends the connections of clients outside of rooms. Those in rooms have got `left` from their rooms.
    func drain()
}

extension AppEndpoint {
    package func addRoutes(to table: inout RouteTable) {}
    package var sockets: [RoomSocket] { [] }
    package var samples: [MetricSample] { [] }
}

/// What endpoints of families ask of the cluster.
package protocol AppCluster: Sendable {
    /// ConcurrencyLimit a room here, for clients that cannot be proxied.
    ///
    /// - Throws: `overloaded` where another node has it.
    func placeHere(_ room: String) async throws(Refusal)
    /// - Parameters:
    ///   - name: of something of which there is one among all nodes.
    ///   - end: ends it here, where another node has it.
    func onLoss(of name: String, _ end: @escaping @Sendable () -> Void)
}

/// What all families need.
package struct AppServices: Sendable {
    package let joins: JoinService
    package let iceServers: ICEServers
    package let statistics: JoinCounts
    package let configuration: TesseraConfiguration
    /// nil: there is no cluster.
    package var cluster: (any AppCluster)?
    package let logger: Logger

    package init(
        joins: JoinService, iceServers: ICEServers, statistics: JoinCounts, configuration: TesseraConfiguration,
        cluster: (any AppCluster)? = nil, logger: Logger
    ) {
        self.joins = joins
        self.iceServers = iceServers
        self.statistics = statistics
        self.configuration = configuration
        self.cluster = cluster
        self.logger = logger
    }
}

extension JoinRequest {
    /// Chat by the data channel of the apps that descend from the WebRTC demo. The server opens one too: these apps send
    /// on the server's channel, and hear on their own.
    package mutating func chatsByAppChannel() {
        media.opensChannels = ["WebRTCData"]
        chatChannel = "WebRTCData"
    }
}
