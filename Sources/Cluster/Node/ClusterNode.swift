public import Basics
public import Logging

/// This server as a node of a cluster: it registers itself in the store, follows what the others write there, and
/// answers who has which room.
public final class ClusterNode: ClusterDirectory {
    private let settings: ClusterSettings
    private let record: NodeRecord
    private let host: any ClusterHost
    private let peers: any PeerQueries

    /// Connects nowhere before `start`.
    ///
    /// - Parameters:
    ///   - record: this node, as `NodeRecord(settings:version:)` makes it.
    ///   - host: what runs here. Where it has what is no room (`~socketIO`), its `rooms` names that too: what the store
    ///     says is here and `rooms` does not name for ten seconds is given up.
    ///   - peers: how other nodes are asked.
    public init(
        settings: ClusterSettings, record: NodeRecord, host: any ClusterHost, peers: any PeerQueries, logger: Logger
    ) throws(ClusterFault) {
        self.settings = settings
        self.record = record
        self.host = host
        self.peers = peers
    }

    /// Registers the node, which goes on in the background: a store that does not answer delays no start. The internal
    /// listener must answer `GET /cluster/alive` before.
    public func start() async {}
    /// Ends the lease, and with it the node's record and what is left of its rooms.
    public func stop() async {}

    public var here: NodeRecord { record }
    public var view: ClusterView { ClusterView(standing: .joining) }
    /// The answer to `GET /cluster/alive`.
    public var alive: AliveAnswer {
        AliveAnswer(node: record.id, incarnation: record.incarnation, standing: .joining)
    }
    /// Asks every node what it believes; takes a second at most.
    public func outlook() async -> ClusterOutlook { ClusterOutlook(here: record.id, nodes: []) }
    /// The metrics `tessera_cluster_…` that the store's part has.
    public var samples: [MetricSample] { [] }

    public func owner(of room: String) async throws(ClusterError) -> RoomOwner? { throw .unavailable }
    public func place(_ room: String, _ wish: PlacementWish) async throws(ClusterError) -> RoomOwner {
        throw .unavailable
    }
    public func lookUp(_ room: String) async throws(ClusterError) -> RoomOwner? { throw .unavailable }
    public func ownerIsGone(_ owner: RoomOwner, of room: String) async {}
    public func release(_ room: String) async {}
    public func move(_ room: String) async throws(ClusterError) -> RoomOwner { throw .unavailable }
    public func store(_ state: [UInt8], of room: String) async {}
    public func stored(_ room: String) async throws(ClusterError) -> [UInt8]? { throw .unavailable }
    public func setDraining(_ isDraining: Bool) async {}
}
