import Admission
import AppEndpoints
import Basics
import Cluster
import ClusterGateway
import Conference
import FoundationEssentials
import Hummingbird
import Logging
import Management
import Outbound
import Settings
import Signalling
import Threads
import WebServer

/// All endpoints, connected to one conference.
struct Endpoints: Sendable {
    let rules: RequestRules
    let gate: ConnectionGate
    let limits: RequestLimits
    let largeBodies = LargeBodies()
    let responder: WebResponder
    let signalling: SignallingEndpoint
    let whip: WHIPEndpoint
    /// Those of the public listener.
    let webSocketEndpoints: [WebSocketEndpoint]
    /// The same as they serve clients of rooms that are here.
    private let sockets: [RoomSocket]
    /// nil: there is no cluster.
    let cluster: ClusterFront?
    /// The endpoints of other families of clients.
    let families: [any AppEndpoint]

    /// - Parameters:
    ///   - certificateExpiry: the end of the certificate for HTTPS; nil: there is none.
    ///   - outlook: what `GET /api/cluster` answers; nil: there is no cluster.
    ///   - linkKey: the secret of recordings' links where the settings have no tokens; nil: links end with the process.
    ///   - budget: the connections that fit into the open files that the system allows.
    ///   - machineName: the result of `gethostname`; an argument for tests.
    init(
        _ configuration: TesseraConfiguration, conference: ConferenceServices, webhooks: Webhooks? = nil,
        tracer: JoinTracer? = nil, cluster: ClusterFront? = nil, drain: NodeDrain? = nil,
        clusterSamples: @escaping @Sendable () -> [MetricSample] = { [] },
        outlook: (@Sendable () async -> ClusterReport)? = nil, linkKey: [UInt8]? = nil, assets: WebAssets = .builtIn,
        usesTLS: Bool,
        certificateExpiry: Date? = nil,
        budget: DescriptorBudget? = nil, machineName: String = ProcessInfo.processInfo.hostName, logger: Logger
    ) async {
        let auth = configuration.auth
        let verifier: TokenVerifier? =
            auth.mode == .token
            ? TokenVerifier(secret: auth.secret, issuer: auth.issuer, audience: auth.audience) : nil
        let authorizer = JoinAuthorizer(verifier: verifier)
        let iceServers = ICEServers(configuration: configuration.ice)
        let limiter = JoinLimiter(
            joinsPerSecond: configuration.limits.joinsPerSecondPerAddress, at: MonotonicClock.now())
        limits = RequestLimits(
            requestsPerSecond: configuration.limits.requestsPerSecondPerAddress, at: MonotonicClock.now())
        let links = RecordingLinks(adminToken: auth.adminToken, secret: auth.secret, other: linkKey)
        let statistics = JoinCounts(logger)
        let requestCounts = RequestCounts()
        let budget = budget ?? DescriptorBudget(descriptors: .max, configuration.limits)
        gate = ConnectionGate(
            connections: budget.connections, perAddress: budget.connectionsPerAddress,
            trustedProxies: configuration.http.trustedProxies)
        rules = RequestRules(configuration.http, machineName: machineName)
        let joins = JoinService(
            conference, authorizer: authorizer, limiter: limiter, statistics: statistics,
            allowsLegacyDTLS: configuration.doors.legacyDTLS)
        let signalling = SignallingEndpoint(
            joins, iceServers: iceServers, statistics: statistics, limits: configuration.limits, logger: logger)
        whip = WHIPEndpoint(
            joins, iceServers: iceServers, sdpLimit: configuration.limits.sdpBytes,
            node: cluster?.directory.here.id)

        let families = Endpoints.families(
            AppServices(
                joins: joins, iceServers: iceServers, statistics: statistics, configuration: configuration,
                cluster: cluster, logger: logger))

        var table = RouteTable(normalize: Names.composed)
        table.addPages(assets, frames: FramePolicy(configuration.http.frameAncestors))
        let eventReaders = EventReaders.places()
        let access = AccessPolicy(
            adminToken: auth.adminToken, verifier: verifier, links: links, conference: conference)
        let hls = HLSEndpoint(joins, policy: access)
        let ofProcess = ProcessSamples(version: Gateway.version, certificateExpiry: certificateExpiry)
        let clusterFault: @Sendable () -> String? = { [cluster] in
            guard let view = cluster?.directory.view, !view.isReady else { return nil }
            return view.distrust.map { "no other node of the cluster believes this one: \($0)" }
                ?? "this node reaches neither the store of its cluster nor another node"
        }
        table.addServer(
            conference.state, policy: access, clusterFault: clusterFault, isEmptying: { drain?.isDraining ?? false }
        ) { [gate, whip, largeBodies, joins] in
            let common =
                requestCounts.samples + statistics.samples + gate.samples + largeBodies.samples + eventReaders.samples
                + whip.samples
                + joins.samples
            return ofProcess.samples + common + hls.places.samples + families.flatMap(\.samples)
                + (webhooks?.samples ?? [])
                + (tracer?.samples ?? [])
                + clusterSamples()
        }
        table.addRooms(conference, limits: limits, policy: access)
        table.addGuestLinks(
            conference, policy: access, tokens: GuestLinkTokens(auth), publicURL: configuration.http.publicURL)
        let downloads = ConcurrencyLimit(budget.downloads)
        table.addRecordings(
            conference.recordings, links: links, policy: access, downloads: downloads,
            publicURL: configuration.http.publicURL)
        table.addMeeting(conference.seats, links: links)
        table.addStreams(conference.streams)
        table.addInputs(conference.inputs)
        table.addPictures(conference, downloads: downloads)
        table.addLayouts(
            LayoutChanges(layouts: conference.layouts, directory: cluster?.directory) { [cluster] name, asked in
                if let cluster { try await LayoutUse.checkOthers(name, asked, cluster) }
            })
        table.addAvatars(conference, policy: access)
        table.addCluster(outlook)
        table.addWebhooks(webhooks.map { Deliveries(webhooks: $0) })
        table.addEvents(conference, readers: eventReaders, policy: access)
        table.addNode(drain, settings: configuration.cluster.drain)
        table.addSignalling()
        table.addWHIP(whip)
        table.addHLS(hls)
        for family in families { family.addRoutes(to: &table) }
        table.addDescription(version: Gateway.version)

        self.signalling = signalling
        let (inside, outside) = (
            SignallingBudget.tooLargeInside(configuration.limits), SignallingBudget.tooLargeOutside
        )
        let native = RoomSocket(
            WebSocketEndpoint(
                pattern: .path("/signal"), maxMessageBytes: configuration.limits.messageBytes,
                oversized: { String(buffer: ServerMessage.error($0 ? inside : outside, fatal: true).bytes) },
                compresses: { ServerMessage.isCompressible($0) },
                serve: { await signalling.serve($0) }),
            placement: .byMessage(.creates) { ClientMessage.room(joinedBy: $0) },
            entry: { door, _, message, room throws(Refusal) in
                guard let join = ClientMessage.join(in: message) else { return }
                try door.check(room, token: join.token, secret: join.resume?.secret)
            },
            refusal: { ServerMessage.error($0, fatal: false).bytes })
        let others = families.flatMap(\.sockets)
        // A path of its own comes before a room's.
        sockets =
            [native] + others.filter { !$0.endpoint.pattern.isOfNames }
            + others.filter { $0.endpoint.pattern.isOfNames }
        webSocketEndpoints = sockets.map { own in
            guard let cluster else { return own.endpoint }
            var front = own.endpoint
            front.serve = { await SocketRelay($0, own, cluster).run() }
            return front
        }
        self.cluster = cluster
        cluster?.door.withLock {
            $0 = FrontDoor(authorizer: authorizer, tickets: ClusterTickets(secret: configuration.cluster.secret))
        }
        self.families = families
        responder = WebResponder(
            table: table, rules: rules,
            access: access, limits: limits,
            largeBodies: largeBodies,
            counts: requestCounts, usesTLS: usesTLS, notices: OnceLogger(logger), webSockets: sockets.map(\.endpoint),
            router: cluster)
    }

    /// The endpoints that `doors` turns on.
    private static func families(_ services: AppServices) -> [any AppEndpoint] {
        let doors = services.configuration.doors
        let families: [(any AppEndpoint)?] = [
            doors.appRTC ? AppRTCEndpoint(services) : nil,
            doors.webrtcDemo ? WebRTCDemoEndpoint(services) : nil,
            doors.rawTCP == nil ? nil : RawTCPEndpoint(services),
            doors.socketIO ? SocketIOEndpoint(services) : nil,
        ]
        return families.compactMap { $0 }
    }

    /// Those of the internal listener.
    var nodeEndpoints: [WebSocketEndpoint] {
        guard let cluster else { return [] }
        let all = sockets.map { own in
            var owned = own.endpoint
            owned.serve = { await OwnedSocket(front: cluster, socket: own).serve($0) }
            return owned
        }
        return rawTCP.map { [NodeBytes.listener($0, cluster)] + all } ?? all
    }

    /// The endpoint of `doors.rawTCP`, which has a listening socket of its own.
    var rawTCP: RawTCPEndpoint? { families.lazy.compactMap { $0 as? RawTCPEndpoint }.first }

    /// Ends the connections of all clients outside of rooms.
    func drain() {
        signalling.drain()
        for family in families { family.drain() }
    }
}

/// The webhooks, for their routes.
private struct Deliveries: WebhookQueues {
    let webhooks: Webhooks

    var reports: [WebhookReport] {
        webhooks.reports.map {
            WebhookReport(
                number: $0.number, host: $0.host, queued: $0.figures.queued,
                oldest: $0.figures.oldest.map { Date(timeIntervalSince1970: Double($0) / 1000) },
                failure: $0.figures.failure, isOff: $0.figures.isOff)
        }
    }

    func retry(_ number: Int) -> Bool { webhooks.retry(number) }
}
