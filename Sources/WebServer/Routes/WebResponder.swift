import FoundationEssentials
import HTTPTypes
package import Hummingbird
import Logging

/// Answers every HTTP request: checks name, rate, access and origin, calls the route, and turns errors into one form.
package struct WebResponder: HTTPResponder {
    package typealias Context = WebContext

    package var table: RouteTable
    package var rules: RequestRules
    package var access: any RequestGuard
    package var limits: RequestLimits
    package var largeBodies: LargeBodies
    package var counts: RequestCounts
    package var usesTLS: Bool
    /// Logs warnings that should appear once.
    package var notices: OnceLogger
    /// Handshakes of WebSockets that were not admitted come here as plain requests.
    package var webSockets: [WebSocketEndpoint] = []
    /// nil: this is the only server.
    package var router: (any RequestRouter)?

    package init(
        table: RouteTable, rules: RequestRules, access: any RequestGuard, limits: RequestLimits,
        largeBodies: LargeBodies, counts: RequestCounts, usesTLS: Bool, notices: OnceLogger,
        webSockets: [WebSocketEndpoint] = [], router: (any RequestRouter)? = nil
    ) {
        self.table = table
        self.rules = rules
        self.access = access
        self.limits = limits
        self.largeBodies = largeBodies
        self.counts = counts
        self.usesTLS = usesTLS
        self.notices = notices
        self.webSockets = webSockets
        self.router = router
    }

    package func respond(to request: Request, context: WebContext) async throws -> Response {
        var response = await answer(request, context)
        decorate(&response, request)
        // A proxy sends the requests of many clients over a connection that it keeps, WebSocket handshakes too; but those are
        // taken as the first request of a connection alone.
        if rules.isTrustedProxy(context.remote) { response.headers[.connection] = "close" }
        counts.count(status: response.status.code)
        return response
    }

    private func answer(_ request: Request, _ context: WebContext) async -> Response {
        let source = rules.source(
            remote: context.remote, local: context.local, host: request.head.authority,
            headers: ProxyHeaders(request.headers))
        return await answer(request, context, source) { [self] route, asked in
            try checkHost(route, asked)
            try checkRate(route, asked)
            guard let router else {
                try await access.check(route.access, asked)
                try checkOrigin(route, asked)
                return try await route.handler(asked)
            }
            try checkOrigin(route, asked)
            // Before anything is placed, or another server does anything.
            let isChecked = route.access.isDecidedAlike
            if isChecked { try await access.check(route.access, asked) }
            return try await router.response(to: asked, by: route) { asked in
                if !isChecked { try await access.check(route.access, asked) }
                return try await route.handler(asked)
            }
        }
    }

    /// Answers a request that another server has checked and passed on.
    package func answer(
        _ request: Request, _ context: WebContext, for source: RequestSource,
        _ check: @Sendable (Route, RouteRequest) async throws -> Void
    ) async -> Response {
        await answer(request, context, source) { [self] route, asked in
            try await check(route, asked)
            try await access.check(route.access, asked)
            return try await route.handler(asked)
        }
    }

    private func answer(
        _ request: Request, _ context: WebContext, _ source: RequestSource,
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
        } catch let error as any RefusalConvertible {
            return APIError(error.refusal).response
        } catch let error as any HTTPResponseError {
            return APIError(.badRequest, "\(error)", status: error.status).response
        } catch {
            // A path may have a secret in it, such as the id of a client: the log has the route's.
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
            endpoint.pattern.isOfNames
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
        counts.countRefused(.host)
        notices.once("host") { $0.warning("A request was refused: \(HostPolicy.explanation(name))") }
        throw APIError(.misdirected, HostPolicy.explanation(name))
    }

    private func checkRate(_ route: Route, _ asked: RouteRequest) throws(APIError) {
        do {
            try limits.check(route, asked, hasAdminToken: access.hasAdminToken(asked))
        } catch {
            counts.countRefused(.rate)
            throw error
        }
    }

    /// - Throws: 403 for a page of another site that is not in `http.allowedOrigins`, unless the request has a token,
    ///   which no browser adds by itself, or a signed link.
    private func checkOrigin(_ route: Route, _ asked: RouteRequest) throws(APIError) {
        let method = asked.request.method
        guard route.access != .everyone, method != .options, asked.bearer == nil,
            !access.hasProofInURL(asked)
        else { return }
        try checkOrigin(asked.pageOrigin, asked, route.appOrigins)
    }

    private func checkOrigin(_ origin: String?, _ asked: RouteRequest, _ apps: Set<WebOrigin>) throws(APIError) {
        let isBrowser = OriginPolicy.isBrowser(asked.headers)
        guard !rules.origins.allows(origin: origin, hosts: asked.source.hosts, apps: apps, isBrowser: isBrowser) else {
            return
        }
        counts.countRefused(.origin)
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
        // Some pages send their requests with credentials, of which there are none here: but a proxy in front may have some,
        // so every site (`*`) does not get this.
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
