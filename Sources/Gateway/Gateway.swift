import Admission
import AppEndpoints
import Basics
import Cluster
import ClusterGateway
import Conference
import FoundationEssentials
import Glibc
import Hummingbird
import HummingbirdCore
import HummingbirdTLS
package import Logging
import NIOCore
import Outbound
import ServiceLifecycle
package import Settings
import Terminal
import Threads
import UnixSignals
import WebServer

/// The server with all its endpoints, from its start to its end.
package struct Gateway: Sendable {
    package static let version = "0.2.0"

    private static let userAgent = "Tessera/\(version)"

    private let configuration: TesseraConfiguration
    private let showsCode: Bool
    private let logger: Logger
    private let manager: ServiceManager

    /// The limit of draining: the process ends within 10 s after SIGTERM, and the last second is for closing
    /// connections.
    private static let drainLimit = Duration.seconds(8)
    /// Of `cluster.drain.within`: for closing connections, and for ending the rooms that could not be moved.
    private static let closeLimit = Duration.seconds(2)
    private static let lastRoomsLimit = Duration.seconds(4)
    /// How long receivers of webhooks have for the last events; the rest waits on the disk for the next start.
    private static let deliveryLimit = Duration.seconds(5)

    /// - Parameter showsCode: whether the start shows a QR code of the server's address, where the standard output is a
    ///   terminal and phones can make a call by it.
    package init(_ configuration: TesseraConfiguration, showsCode: Bool = true, logger: Logger) {
        self.configuration = configuration
        self.showsCode = showsCode
        self.logger = logger
        manager = ServiceManager(logger: logger)
    }

    /// Serves until the process is told to end by SIGTERM or SIGINT, then drains.
    ///
    /// - Throws: `ConfigurationFaults` for settings that the system refuses: a busy port, an unreadable certificate.
    package func run() async throws {
        let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint)
        let tls = try ServerCertificate.configuration(configuration.http)
        let hooks = try configuration.webhooks.withSecretsOfFiles()
        let budget = descriptorBudget()
        let conference: Conference
        do {
            var settings = ConferenceConfiguration(configuration)
            settings.limits.mediaConnections = budget.mediaConnections
            conference = try Conference(settings, logger: logger)
            try conference.start()
        } catch {
            throw startFault(error)
        }
        let webhooks =
            hooks.isEmpty
            ? nil
            : Webhooks(
                hooks, directory: configuration.webhooksDirectory, bus: conference.events,
                client: HTTPClientPoster(userAgent: Gateway.userAgent), logger: logger)
        let tracer =
            configuration.tracing.otlp.isEmpty
            ? nil
            : JoinTracer(
                configuration.tracing.otlp, ConferenceServices(conference),
                poster: HTTPClientPoster(userAgent: Gateway.userAgent),
                version: Gateway.version, logger: logger)
        let cluster: ClusterMember?
        do throws(ConfigurationFaults) {
            cluster = configuration.cluster.isOn ? try ClusterMember(configuration, conference, logger: logger) : nil
        } catch {
            await conference.drain(within: .seconds(1))
            await webhooks?.finish(by: MonotonicClock.now())
            await tracer?.stop()
            throw error
        }
        let endpoints = await Endpoints(
            configuration, conference: ConferenceServices(conference), webhooks: webhooks, tracer: tracer,
            cluster: cluster?.front,
            drain: cluster?.drain, clusterSamples: { cluster?.samples ?? [] },
            outlook: cluster?.outlook, linkKey: linkKey, usesTLS: tls != nil,
            certificateExpiry: tls.flatMap(ServerCertificate.expiry), budget: budget, logger: logger)
        func abandon() async {
            await conference.drain(within: .seconds(1))
            await webhooks?.finish(by: MonotonicClock.now())
            await tracer?.stop()
            await cluster?.stop()
        }
        do {
            let rawTCP = try await listenForRawTCP(endpoints)
            let nodes = cluster.map { [$0.listener(endpoints, budget: budget)] } ?? []
            let lifecycle = ServiceGroup(
                configuration: .init(
                    services: [application(endpoints, tls: tls, budget: budget)] + nodes + rawTCP,
                    gracefulShutdownSignals: [], logger: logger))
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await lifecycle.run() }
                group.addTask { await waitAndDrain(signals, conference, webhooks, endpoints, cluster, lifecycle) }
                if manager.watchdog != nil { group.addTask { await manager.tellAlive(conference.ask) } }
                try await group.next()
                group.cancelAll()
            }
        } catch let error as IOError {
            await abandon()
            throw ConfigurationFaults([listenFault(Gateway.bindFault(error, flag: " with --listen HOST:PORT"))])
        } catch let error as SocketAddressError {
            await abandon()
            throw ConfigurationFaults([listenFault("there is no such host: \(error)")])
        } catch let faults as ConfigurationFaults {
            await abandon()
            throw faults
        }
    }

    /// The secret of recordings' links where there are no tokens: that of the cluster, for which all nodes are one, or of
    /// a file.
    private var linkKey: [UInt8]? {
        let auth = configuration.auth
        guard auth.adminToken.isEmpty, auth.secret.isEmpty else { return nil }
        if configuration.cluster.isOn { return Array(configuration.cluster.secret.utf8) }
        return LinkKeyFile.secret(in: configuration.doors.directory, logger: logger)
    }

    /// The service of `doors.rawTCP`, if that is set.
    private func listenForRawTCP(_ endpoints: Endpoints) async throws -> [any Service] {
        guard let endpoint = endpoints.rawTCP, let listen = configuration.doors.rawTCP else { return [] }
        let what: String
        do {
            var relay: RawTCPServer.Relay?
            if let front = endpoints.cluster {
                let served = ByteRelay(endpoint: endpoint, front: front)
                relay = { await served.serve($0) }
            }
            return [try await RawTCPServer(endpoint, listen: listen, gate: endpoints.gate, relay: relay)]
        } catch let error as IOError {
            what = Gateway.bindFault(error)
        } catch let error as SocketAddressError {
            what = "there is no such host: \(error)"
        }
        throw ConfigurationFaults([ConfigurationFault(key: "doors.rawTCP", value: "\(listen)", what: what)])
    }

    /// Raises the limit of open files to the settings' need, and logs a warning where the system allows fewer.
    private func descriptorBudget() -> DescriptorBudget {
        let isNode = configuration.cluster.isOn
        let descriptors = DescriptorBudget.raiseLimit(to: DescriptorBudget.wanted(configuration.limits, isNode: isNode))
        let budget = DescriptorBudget(descriptors: descriptors, configuration.limits, isNode: isNode)
        var facts: Logger.Metadata = [
            "descriptors": "\(descriptors)", "connections": "\(budget.connections)",
            "mediaConnections": "\(budget.mediaConnections)",
        ]
        if isNode { facts["nodeConnections"] = "\(budget.nodeConnections)" }
        if budget.isShort {
            logger.warning(
                "The system allows too few open files for limits.connections and limits.mediaConnections: both are smaller now. Raise the hard limit (LimitNOFILE= of systemd, --ulimit nofile= of Docker, ulimit -Hn)",
                metadata: facts)
        } else {
            logger.info("Open files", metadata: facts)
        }
        return budget
    }

    private func application(_ endpoints: Endpoints, tls: TLSConfiguration?, budget: DescriptorBudget) -> Application<
        WebResponder
    > {
        let channelEndpoints = endpoints.webSocketEndpoints
        let (rules, gate, limits) = (endpoints.rules, endpoints.gate, endpoints.limits)
        let families = endpoints.families
        let (largeBodies, table) = (endpoints.largeBodies, endpoints.responder.table)
        let listen = configuration.http.listen
        let builder = HTTPServerBuilder { responder -> any ServerChildChannel in
            let channel = WebChannel(
                responder: responder, endpoints: channelEndpoints, rules: rules, gate: gate, limits: limits,
                isTLS: tls != nil, largeBodies: largeBodies, table: table)
            if let tls { return try TLSChannel(channel, tlsConfiguration: tls) }
            return channel
        }
        return Application(
            responder: endpoints.responder, server: builder,
            configuration: ApplicationConfiguration(
                address: .hostname(listen.host, port: Int(listen.port)), serverName: "Tessera", backlog: 512,
                // Beyond the gate's own limit the server accepts no connection until refused and closed ones are gone,
                // so that accepting never runs out of descriptors. Where the rest of the process uses them up, NIO
                // waits a second and goes on.
                availableConnectionsDelegate: .maximum(budget.connections + DescriptorBudget.margin, logger: logger)),
            onServerRunning: { [manager] channel in
                let port = channel.localAddress?.port.flatMap { UInt16(exactly: $0) } ?? listen.port
                announce(port: port, isSecure: tls != nil, families)
                manager.tellReady()
            }, logger: logger)
    }

    /// Prints the server's addresses, and logs those for the apps of other families.
    private func announce(port: UInt16, isSecure: Bool, _ families: [any AppEndpoint]) {
        let http = configuration.http
        let notice = StartNotice(
            version: Gateway.version, listen: Endpoint(host: http.listen.host, port: port), isSecure: isSecure,
            isSelfSigned: http.tls.selfSigned, publicURL: http.publicURL, addresses: LocalNetwork.addresses(),
            terminal: .ofOutput(), wantsCode: showsCode)
        for line in notice.lines { print(line) }
        fflush(nil)
        for family in families { logger.debug("\(family.announcement(at: notice.here))") }
    }

    private func waitAndDrain(
        _ signals: UnixSignalsSequence, _ conference: Conference, _ webhooks: Webhooks?, _ endpoints: Endpoints,
        _ cluster: ClusterMember?, _ lifecycle: ServiceGroup
    ) async {
        await withTaskGroup(of: Void.self) { group in
            var count = 0
            for await signal in signals {
                count += 1
                if count == 1 {
                    logger.notice(
                        "Draining: no new joins, recordings are being closed", metadata: ["signal": "\(signal)"])
                    group.addTask {
                        let within = configuration.cluster.drain.within
                        let start = MonotonicClock.now()
                        let limit =
                            start + (cluster == nil ? Gateway.drainLimit : max(within - Gateway.closeLimit, within / 2))
                        async let _ = manager.tellStopping(until: limit + .seconds(2))
                        // The rooms go first; what is left ends as without a cluster.
                        await cluster?.leave(within: max(within - Gateway.lastRoomsLimit, within / 2))
                        await conference.drain(within: max(limit - MonotonicClock.now(), .seconds(1)))
                        endpoints.drain()
                        let deliveryEnd = min(limit, MonotonicClock.now() + Gateway.deliveryLimit)
                        async let told: Void? = webhooks?.finish(by: deliveryEnd)
                        // Half a second for the last messages to leave; remaining connections end with the process.
                        try? await Task.sleep(for: .milliseconds(500))
                        await told
                        await cluster?.stop()
                        await lifecycle.triggerGracefulShutdown()
                        try? await Task.sleep(for: .seconds(1))
                        logger.notice("Drained")
                        exit(0)
                    }
                } else {
                    // The recordings are on the disk in fragments; the next start completes the files.
                    logger.warning("A second signal: leaving at once")
                    exit(128 + signal.rawValue)
                }
            }
        }
    }

    // MARK: Faults of the start

    /// What keeps the conference from starting, as a fault of the key that has to change where there is one.
    private func startFault(_ error: ConferenceError) -> any Error {
        if case .unknownLayout(let name) = error {
            let allowed = "Allowed is the name of a file in layouts.directory, or of a shipped layout."
            let settings = configuration.rooms.settings
            let key =
                if name == settings.layout {
                    "rooms.layout"
                } else if name == settings.onPresent.layout {
                    "rooms.onPresent"
                } else {
                    settings.views.values.contains { $0.layout == name } ? "rooms.views" : "rooms.presets"
                }
            return ConfigurationFaults(key, name, error.message + " " + allowed)
        }
        guard case .configuration = error else { return error }
        return ConfigurationFaults("media.listen", configuration.media.listen.description, error.message)
    }

    /// - Parameter flag: where else another port can be named.
    static func bindFault(_ error: IOError, flag: String = "") -> String {
        switch error.errnoCode {
        case EADDRINUSE: "another program has this port; end it, or name another port\(flag)"
        case EACCES: "ports below 1024 need privileges (CAP_NET_BIND_SERVICE); name another port\(flag)"
        case EADDRNOTAVAIL: "this machine has no such address; 0.0.0.0 is every one of its own"
        default: "cannot be listened on: \(error)"
        }
    }

    private func listenFault(_ what: String) -> ConfigurationFault {
        ConfigurationFault(key: "http.listen", value: configuration.http.listen.description, what: what)
    }
}
