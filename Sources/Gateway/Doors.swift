import Hummingbird
import Logging

/// Every door, wired to one conference.
struct Doors: Sendable {
    let origins: OriginPolicy
    let responder: GatewayResponder
    let signalling: SignallingDoor
    let webSocketDoors: [WebSocketDoor]

    init(
        _ configuration: TesseraConfiguration, service: any RoomService, assets: WebAssets = .builtIn, usesTLS: Bool, logger: Logger
    ) async {
        let verifier: TokenVerifier? = configuration.auth.mode == .token ? await TokenVerifier(secret: configuration.auth.secret) : nil
        let doorkeeper = Doorkeeper(verifier: verifier)
        let iceServers = IceServers(configuration: configuration.ice)
        let limiter = JoinLimiter(joinsPerSecond: configuration.limits.joinsPerSecondPerAddress, at: Gateway.now())
        let figures = GatewayFigures()
        let origins = OriginPolicy(allowed: configuration.http.allowedOrigins)
        let signalling = SignallingDoor(
            service: service, doorkeeper: doorkeeper, iceServers: iceServers, limiter: limiter, figures: figures,
            sdpLimit: configuration.limits.sdpBytes, logger: logger)
        let whip = WHIPDoor(
            service: service, doorkeeper: doorkeeper, iceServers: iceServers, limiter: limiter, figures: figures,
            sdpLimit: configuration.limits.sdpBytes)

        var table = RouteTable()
        table.addPages(assets)
        table.addServer(service, figures: figures)
        table.addRooms(service)
        table.addRecordings(service)
        table.addLayouts(service)
        table.addSignalling(origins)
        table.addWHIP(whip)
        table.addDescription(version: Gateway.version)

        self.origins = origins
        self.signalling = signalling
        let oversized = ServerMessage.error(
            code: "bad_message", message: "a message may have at most \(configuration.limits.messageBytes) bytes (limits.messageBytes)",
            fatal: true)
        webSocketDoors = [WebSocketDoor(path: "/signal", checksOrigin: true, oversized: oversized.text) { await signalling.serve($0) }]
        responder = GatewayResponder(
            table: table, origins: origins,
            access: AccessPolicy(adminToken: configuration.auth.adminToken, verifier: verifier), figures: figures, usesTLS: usesTLS)
    }
}
