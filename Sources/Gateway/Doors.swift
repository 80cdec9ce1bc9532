import Foundation
import Hummingbird
import Logging

/// Every door, wired to one conference.
struct Doors: Sendable {
    let rules: RequestRules
    let gate: ConnectionGate
    let limits: RequestLimits
    let responder: GatewayResponder
    let signalling: SignallingDoor
    let whip: WHIPDoor
    let webSocketDoors: [WebSocketDoor]

    /// - Parameters:
    ///   - budget: what fits into the open files that the system allows.
    ///   - machineName: as `gethostname` says; an argument for tests.
    init(
        _ configuration: TesseraConfiguration, service: any RoomService, assets: WebAssets = .builtIn, usesTLS: Bool,
        budget: DescriptorBudget? = nil, machineName: String = ProcessInfo.processInfo.hostName, logger: Logger
    ) async {
        let auth = configuration.auth
        let verifier: TokenVerifier? =
            auth.mode == .token ? await TokenVerifier(secret: auth.secret, issuer: auth.issuer, audience: auth.audience) : nil
        let doorkeeper = Doorkeeper(verifier: verifier)
        let iceServers = IceServers(configuration: configuration.ice)
        let limiter = JoinLimiter(joinsPerSecond: configuration.limits.joinsPerSecondPerAddress, at: Gateway.now())
        limits = RequestLimits(configuration.limits, at: Gateway.now())
        let links = RecordingLinks(adminToken: auth.adminToken, secret: auth.secret)
        let figures = GatewayFigures()
        let budget = budget ?? DescriptorBudget(descriptors: .max, configuration.limits)
        gate = ConnectionGate(
            connections: budget.connections, perAddress: budget.connectionsPerAddress, trustedProxies: configuration.http.trustedProxies)
        rules = RequestRules(configuration.http, machineName: machineName)
        let signalling = SignallingDoor(
            service: service, doorkeeper: doorkeeper, iceServers: iceServers, limiter: limiter, figures: figures,
            limits: configuration.limits, logger: logger)
        whip = WHIPDoor(
            service: service, doorkeeper: doorkeeper, iceServers: iceServers, limiter: limiter, figures: figures,
            sdpLimit: configuration.limits.sdpBytes)

        var table = RouteTable()
        table.addPages(assets)
        table.addServer(service) { [gate, whip] in figures.lines + gate.lines + whip.lines }
        table.addRooms(service, limits: limits)
        table.addRecordings(service, links: links, downloads: budget.downloads, publicURL: configuration.http.publicURL)
        table.addLayouts(service)
        table.addSignalling()
        table.addWHIP(whip)
        table.addDescription(version: Gateway.version)

        self.signalling = signalling
        let (inside, outside) = (SignallingBudget.tooLargeInside(configuration.limits), SignallingBudget.tooLargeOutside)
        webSocketDoors = [
            WebSocketDoor(path: "/signal", checksOrigin: true) { isInside in
                let error = isInside ? inside : outside
                return ServerMessage.error(code: error.code, message: error.message, fatal: true).text
            } serve: {
                await signalling.serve($0)
            }
        ]
        responder = GatewayResponder(
            table: table, rules: rules, access: AccessPolicy(adminToken: auth.adminToken, verifier: verifier, links: links), limits: limits,
            figures: figures, usesTLS: usesTLS, notices: Notices(logger))
    }
}
