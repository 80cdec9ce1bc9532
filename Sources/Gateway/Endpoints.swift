import Foundation
import Hummingbird
import Logging
import Threads

/// All endpoints, connected to one conference.
struct Endpoints: Sendable {
    let rules: RequestRules
    let gate: ConnectionGate
    let limits: RequestLimits
    let responder: GatewayResponder
    let signalling: SignallingEndpoint
    let whip: WHIPEndpoint
    let webSocketEndpoints: [WebSocketEndpoint]

    /// - Parameters:
    ///   - budget: the connections that fit into the open files that the system allows.
    ///   - machineName: the result of `gethostname`; an argument for tests.
    init(
        _ configuration: TesseraConfiguration, conference: any ConferenceService, assets: WebAssets = .builtIn,
        usesTLS: Bool,
        budget: DescriptorBudget? = nil, machineName: String = ProcessInfo.processInfo.hostName, logger: Logger
    ) async {
        let auth = configuration.auth
        let verifier: TokenVerifier? =
            auth.mode == .token
            ? await TokenVerifier(secret: auth.secret, issuer: auth.issuer, audience: auth.audience) : nil
        let authorizer = JoinAuthorizer(verifier: verifier)
        let iceServers = ICEServers(configuration: configuration.ice)
        let limiter = JoinLimiter(
            joinsPerSecond: configuration.limits.joinsPerSecondPerAddress, at: MonotonicClock.now())
        limits = RequestLimits(configuration.limits, at: MonotonicClock.now())
        let links = RecordingLinks(adminToken: auth.adminToken, secret: auth.secret)
        let statistics = GatewayMetrics(logger)
        let budget = budget ?? DescriptorBudget(descriptors: .max, configuration.limits)
        gate = ConnectionGate(
            connections: budget.connections, perAddress: budget.connectionsPerAddress,
            trustedProxies: configuration.http.trustedProxies)
        rules = RequestRules(configuration.http, machineName: machineName)
        let joins = JoinService(conference, authorizer: authorizer, limiter: limiter, statistics: statistics)
        let signalling = SignallingEndpoint(
            joins, iceServers: iceServers, statistics: statistics, limits: configuration.limits, logger: logger)
        whip = WHIPEndpoint(joins, iceServers: iceServers, sdpLimit: configuration.limits.sdpBytes)

        var table = RouteTable()
        table.addPages(assets)
        table.addServer(conference) { [gate, whip] in statistics.samples + gate.samples + whip.samples }
        table.addRooms(conference, limits: limits)
        table.addRecordings(
            conference, links: links, downloads: budget.downloads, publicURL: configuration.http.publicURL)
        table.addLayouts(conference)
        table.addSignalling()
        table.addWHIP(whip)
        table.addDescription(version: Gateway.version)

        self.signalling = signalling
        let (inside, outside) = (
            SignallingBudget.tooLargeInside(configuration.limits), SignallingBudget.tooLargeOutside
        )
        webSocketEndpoints = [
            WebSocketEndpoint(path: "/signal", checksOrigin: true) { isInside in
                String(buffer: ServerMessage.error(isInside ? inside : outside, fatal: true).bytes)
            } serve: {
                await signalling.serve($0)
            }
        ]
        responder = GatewayResponder(
            table: table, rules: rules,
            access: AccessPolicy(adminToken: auth.adminToken, verifier: verifier, links: links), limits: limits,
            statistics: statistics, usesTLS: usesTLS, notices: Notices(logger))
    }
}
