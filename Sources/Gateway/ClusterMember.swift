import Admission
import Basics
import Cluster
import ClusterGateway
import Conference
import FoundationEssentials
import Hummingbird
import HummingbirdCore
import HummingbirdTLS
import Logging
import NIOCore
import NIOSSL
import ServiceLifecycle
import Settings
import WebServer

/// This server as a member of its cluster: the node, the bridge to the rooms, the front, and the internal listener.
final class ClusterMember: Sendable {
    let front: ClusterFront
    let drain: NodeDrain
    private let node: ClusterNode
    private let bridge: ClusterBridge
    private let peers: HTTPNodeQueries
    private let settings: ClusterSettings
    private let tls: TLSConfiguration?
    private let logger: Logger

    /// Connects nowhere yet.
    ///
    /// - Throws: faults of `cluster.*`: what the system or a file refuses.
    init(_ configuration: TesseraConfiguration, _ conference: Conference, logger: Logger) throws(ConfigurationFaults) {
        settings = configuration.cluster
        self.logger = logger
        do { tls = try settings.tls.server() } catch { throw ConfigurationFaults(error) }
        try Self.checkAdvertised(settings)
        let late = Guarded<ClusterFront?>(nil)
        bridge = ClusterBridge(conference, seal: RoomSeal(secret: settings.secret), logger: logger) { node in
            late.withLock { $0 }?.nodeIsGone(node)
        }
        do throws(ClusterFault) {
            var record = try NodeRecord(settings: settings, version: Gateway.version)
            (record.protocol, record.needs) = (RoomState.version, RoomState.needs)
            let tokens = NodeToken(secret: settings.secret, node: record.id)
            peers = try HTTPNodeQueries(settings.tls) { [(NodeHeaders.token, tokens.make(for: $0.id))] }
            node = try ClusterNode(
                settings: settings, record: record, host: NodeHost(bridge: bridge, front: late), peers: peers,
                logger: logger)
        } catch {
            throw ConfigurationFaults(error)
        }
        front = try ClusterFront(
            node, keeper: bridge, settings: settings,
            placementsPerSecond: Double(configuration.limits.joinsPerSecondPerAddress), logger: logger)
        drain = NodeDrain(node) { [bridge] drain in await bridge.drain(drain) }
        late.withLock { [front] in $0 = front }
    }

    /// - Throws: a fault for a name that nobody can reach.
    private static func checkAdvertised(_ settings: ClusterSettings) throws(ConfigurationFaults) {
        guard let advertise = settings.advertise, IPAddress(advertise.host) == nil else { return }
        do {
            _ = try NIOCore.SocketAddress.makeAddressResolvingHost(advertise.host, port: Int(advertise.port))
        } catch {
            throw ConfigurationFaults(
                "cluster.advertise", advertise.description,
                "there is no such host; name the address at which the other nodes reach cluster.listen")
        }
    }

    var samples: [MetricSample] { node.samples + front.metrics.samples(pipes: front.pipes.count) }

    /// What every node believes: the answer to `GET /api/cluster`.
    @Sendable func outlook() async -> ClusterReport { await node.outlook() }

    /// The internal listener. The node registers itself as soon as it listens.
    func listener(_ endpoints: Endpoints, budget: DescriptorBudget) -> any Service {
        let gate = NodeGate(tokens: front.tokens)
        let responder = NodeResponder(
            responder: endpoints.responder, front: front, gate: gate, alive: { [node] in node.alive }
        ) {
            [node] in await node.reaches($0, $1)
        }
        let channelEndpoints = endpoints.nodeEndpoints
        let (rules, limits) = (endpoints.rules, endpoints.limits)
        let (largeBodies, table) = (endpoints.largeBodies, endpoints.responder.table)
        // Nodes count in all only: each carries the connections of many clients.
        let connections = ConnectionGate(
            connections: budget.nodeConnections, perAddress: budget.nodeConnections, isFair: false)
        let builder = HTTPServerBuilder { [tls] responder -> any ServerChildChannel in
            let channel = WebChannel(
                responder: responder, endpoints: channelEndpoints, rules: rules, gate: connections, limits: limits,
                isTLS: tls != nil, largeBodies: largeBodies, table: table, servers: gate)
            if let tls { return try TLSChannel(channel, tlsConfiguration: tls) }
            return channel
        }
        let listen = settings.listen
        let application = Application(
            responder: responder, server: builder,
            configuration: ApplicationConfiguration(
                address: .hostname(listen.host, port: Int(listen.port)), serverName: "Tessera", backlog: 512,
                availableConnectionsDelegate: .maximum(
                    budget.nodeConnections + DescriptorBudget.margin, logger: logger)),
            onServerRunning: { [self] _ in await start() }, logger: logger)
        return InternalListener(application: application, listen: listen)
    }

    private func start() async {
        bridge.start(node)
        await node.start()
        logger.notice(
            "This server is a node of a cluster", metadata: ["node": "\(node.here.id)", "url": "\(node.here.url)"])
    }

    /// Empties the node before the process ends. Returns when that is done or the time for it is over.
    func leave(within limit: Duration) async {
        var wish = settings.drain
        wish.within = limit
        await drain.finish(wish)
    }

    /// Leaves the cluster.
    func stop() async {
        await bridge.stop()
        await node.stop()
        await front.shutdown()
        await peers.shutdown()
    }
}

extension ClusterBridge: LocalRooms {}

/// What is here, for the cluster: the rooms, and what there is one of among all nodes.
private struct NodeHost: ClusterHost {
    let bridge: ClusterBridge
    let front: Guarded<ClusterFront?>

    var rooms: [String] {
        bridge.rooms + (front.withLock { $0 }?.singletonsHere ?? [])
    }
    var load: NodeLoad { bridge.load }
    func lose(_ rooms: [String]) {
        for name in rooms where ClusterFront.isSingleton(name) { front.withLock { $0 }?.lose(singleton: name) }
        bridge.lose(rooms.filter { !ClusterFront.isSingleton($0) })
    }
    func nodeIsGone(_ node: NodeRecord) { bridge.nodeIsGone(node) }
    func useLayout(_ name: String, _ json: [UInt8]?) { bridge.useLayout(name, json) }
    func settleLayouts() async { await bridge.settleLayouts() }
}

/// The internal listener as a service, whose faults name their key.
private struct InternalListener: Service {
    let application: Application<NodeResponder>
    let listen: Endpoint

    func run() async throws {
        let what: String
        do {
            return try await application.run()
        } catch let error as IOError {
            what = Gateway.bindFault(error)
        } catch let error as SocketAddressError {
            what = "there is no such host: \(error)"
        }
        throw ConfigurationFaults("cluster.listen", listen.description, what)
    }
}
