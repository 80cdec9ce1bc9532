import Conference
import FoundationEssentials
import HTTPTypes
import Hummingbird
import Logging

/// Answers every HTTP request: checks name, rate, access and origin, calls the route, and turns errors into one form.
struct GatewayResponder: HTTPResponder {
    typealias Context = GatewayContext

    var table: RouteTable
    var rules: RequestRules
    var access: AccessPolicy
    var limits: RequestLimits
    var largeBodies: LargeBodies
    var statistics: GatewayMetrics
    var usesTLS: Bool
    /// Logs warnings that should appear once.
    var notices: Notices
    /// Handshakes of WebSockets that were not admitted come here as plain requests.
    var webSockets: [WebSocketEndpoint] = []
    /// In a cluster: answers a checked request, here by the closure, or by another node. nil: there is no cluster.
    var forward: Forward?

    typealias Serve = @Sendable (RouteRequest) async throws -> Response
    typealias Forward = @Sendable (Route, RouteRequest, @escaping Serve) async throws -> Response

    func respond(to request: Request, context: GatewayContext) async throws -> Response {
        var response = await answer(request, context)
        decorate(&response, request)
        // A proxy sends the requests of many clients over a connection that it keeps, WebSocket handshakes too; but those are
        // taken as the first request of a connection alone.
        if rules.isTrustedProxy(context.remote) { response.headers[.connection] = "close" }
        statistics.countRequest(status: response.status.code)
        return response
    }

    private func answer(_ request: Request, _ context: GatewayContext) async -> Response {
        let source = rules.source(
            remote: context.remote, local: context.local, host: request.head.authority,
            headers: ProxyHeaders(request.headers))
        return await answer(request, context, source) { [self] route, asked in
            try checkHost(route, asked)
            try checkRate(route, asked)
            guard let forward else {
                try await access.check(route.access, asked)
                try checkOrigin(route, asked)
                return try await route.handler(asked)
            }
            try checkOrigin(route, asked)
            // Before a room is placed, or another node does anything.
            let isChecked = route.access.isSameEverywhere
            if isChecked { try await access.check(route.access, asked) }
            return try await forward(route, asked) { asked in
                if !isChecked { try await access.check(route.access, asked) }
                return try await route.handler(asked)
            }
        }
    }

    /// Answers a request that another node has checked and passed on.
    func answer(
        _ request: Request, _ context: GatewayContext, for source: RequestSource,
        _ check: @Sendable (Route, RouteRequest) async throws -> Void
    ) async -> Response {
        await answer(request, context, source) { [self] route, asked in
            try await check(route, asked)
            try await access.check(route.access, asked)
            return try await route.handler(asked)
        }
    }

    private func answer(
        _ request: Request, _ context: GatewayContext, _ source: RequestSource,
        _ handle: @Sendable (Route, RouteRequest) async throws -> Response
    ) async -> Response {
        var asked = RouteRequest(
            request: request, context: context, source: source, publicAddress: rules.publicAddress(for: source),
            largeBodies: largeBodies)
        var route = ""
        do {
            try checkHandshake(asked)
            switch table.find(request.method, request.uri.path) {
            case .found(let found, let parameters):
                route = found.path
                asked.parameters = parameters
                asked.standing = access.standing(of: asked)
                let response = try await handle(found, asked)
                return request.method == .head ? response.createHeadResponse() : response
            case .wrongMethod(let allowed):
                let list = Set(allowed.map(\.rawValue)).union(["OPTIONS"]).sorted().joined(separator: ", ")
                if request.method == .options { return Response(status: .noContent, headers: [.allow: list]) }
                throw APIError(
                    .methodNotAllowed, "\(request.method.rawValue) is not possible here; allowed: \(list)",
                    headers: [.allow: list])
            case .notFound:
                throw APIError.notFound("there is nothing at \(request.uri.path); /api/openapi.json lists what is")
            }
        } catch let error as APIError {
            return error.response
        } catch let error as Refusal {
            return APIError(error).response
        } catch let error as ConferenceError {
            return APIError(Refusal(error)).response
        } catch let error as any HTTPResponseError {
            return APIError(.badRequest, "\(error)", status: error.status).response
        } catch {
            // A path may have a secret in it, such as an AppRTC client's id: the log has the route's.
            context.logger.error(
                "A request failed",
                metadata: ["method": "\(request.method)", "route": "\(route)", "error": "\(error)"])
            return APIError(.internalFailure, "the server could not do this; its log says more").response
        }
    }

    /// Answers a handshake that the endpoint at `/{room}` did not admit: it has no route, so that the client would be
    /// told that there is nothing.
    ///
    /// - Throws: 421, 403 or 426.
    private func checkHandshake(_ asked: RouteRequest) throws(APIError) {
        guard asked.request.method == .get, asked.headers[.secWebSocketKey] != nil,
            let endpoint = webSockets.first(where: { $0.takes(path: asked.request.uri.path) }),
            endpoint.pattern == .room
        else { return }
        try checkHost(asked)
        try checkOrigin(asked.headers[.origin], asked, endpoint.appOrigins)
        throw .webSocketOnly
    }

    private func checkHost(_ route: Route, _ asked: RouteRequest) throws(APIError) {
        // They reveal nothing.
        if !route.isHealthCheck { try checkHost(asked) }
    }

    /// - Throws: 421 (RFC 9110 §15.5.20) for a name that may be a rebinding page's.
    private func checkHost(_ asked: RouteRequest) throws(APIError) {
        guard rules.hosts.mayBeRebinding(asked.source) else { return }
        let name = asked.source.hosts.first ?? ""
        statistics.countRefusedRequest(.host)
        notices.once("host") { $0.warning("A request was refused: \(HostPolicy.explanation(name))") }
        throw APIError(.misdirected, HostPolicy.explanation(name))
    }

    private func checkRate(_ route: Route, _ asked: RouteRequest) throws(APIError) {
        do {
            try limits.check(route, asked, hasAdminToken: access.hasAdminToken(asked))
        } catch {
            statistics.countRefusedRequest(.rate)
            throw error
        }
    }

    /// - Throws: 403 for a page of another site that is not in `http.allowedOrigins`, unless the request has a token,
    ///   which no browser adds by itself, or a signed link.
    private func checkOrigin(_ route: Route, _ asked: RouteRequest) throws(APIError) {
        let method = asked.request.method
        guard route.access != .everyone, method != .options, asked.bearer == nil,
            !access.links.allow(asked.recordingLink, at: .now)
        else { return }
        try checkOrigin(asked.pageOrigin, asked, route.appOrigins)
    }

    private func checkOrigin(_ origin: String?, _ asked: RouteRequest, _ apps: Set<WebOrigin>) throws(APIError) {
        let isBrowser = OriginPolicy.isBrowser(asked.headers)
        guard !rules.origins.allows(origin: origin, hosts: asked.source.hosts, apps: apps, isBrowser: isBrowser) else {
            return
        }
        statistics.countRefusedRequest(.origin)
        throw APIError(
            .forbidden, "pages of \(origin ?? "other sites") may not use this server; http.allowedOrigins lists who may"
        )
    }

    private func decorate(_ response: inout Response, _ request: Request) {
        response.headers[.xContentTypeOptions] = "nosniff"
        response.headers[.referrerPolicy] = "no-referrer"
        if usesTLS { response.headers[.strictTransportSecurity] = "max-age=15552000" }
        guard let origin = request.headers[.origin] else { return }
        // A page's file, or an answer of another node, may vary by more.
        let others = (response.headers[.vary] ?? "").split(separator: ", ").filter { $0 != "Origin" }
        response.headers[.vary] = (others + ["Origin"]).joined(separator: ", ")
        guard rules.origins.allows(origin: origin, hosts: []) else { return }
        // CORS for the pages that http.allowedOrigins lists.
        response.headers[.accessControlAllowOrigin] = origin
        // Socket.IO's script and AppRTC's page send their requests with credentials, of which there are none here: but a
        // proxy in front may have some, so every site (`*`) does not get this.
        if rules.origins.names(origin: origin) { response.headers[.accessControlAllowCredentials] = "true" }
        response.headers[.accessControlExposeHeaders] =
            "Location, ETag, Link, Accept-Patch, Accept-Post, Retry-After, Allow"
        if request.method == .options {
            response.headers[.accessControlAllowMethods] =
                response.headers[.allow] ?? "GET, HEAD, PUT, POST, PATCH, DELETE, OPTIONS"
            response.headers[.accessControlAllowHeaders] = "Authorization, Content-Type, If-Match, If-None-Match, Range"
            response.headers[.accessControlMaxAge] = "600"
        }
    }
}
